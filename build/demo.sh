#!/usr/bin/env bash
# `make demo`: builds what the demo needs, the control plane and our programs at the same time, and runs it.
#
#   build/demo.sh [FLAGS OF THE DEMO]     for example --once, or --kubeconfig FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. build/progress.sh

say() { erase_line; printf 'demo: %s\n' "$*" >&2; }

scratch=$(mktemp -d "${TMPDIR:-/tmp}/steersman-demo-XXXXXX")
control_plane=
programs=
clean_up() {
    [ -z "$control_plane" ] || kill "$control_plane" 2>/dev/null || true
    [ -z "$programs" ] || kill "$programs" 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# how_far: both builds on one line
how_far() {
    local crates control_plane_line own='' elapsed=$((SECONDS - started))
    control_plane_line=$(cat "$scratch/control-plane" 2>/dev/null) || control_plane_line=
    control_plane_line=${control_plane_line#control plane: }
    if kill -0 "$programs" 2>/dev/null; then
        # Cargo's own progress, which it writes over itself.
        crates=$(tail -c 2000 "$scratch/cargo.log" | grep -aoE '[0-9]+/[0-9]+' | tail -n 1) || crates=
        own="steersman: ${crates:+${crates/\// of } crates, }$elapsed s$(last_time demo/steersman)"
        echo "$elapsed" >"$scratch/seconds"
    elif ! finished && [ -n "$control_plane" ]; then
        # Of no use any longer.
        kill "$control_plane" 2>/dev/null || true
    fi
    if [ -z "$own" ] || [ -z "$control_plane_line" ]; then
        echo "$control_plane_line$own"
    elif [ "$((${#control_plane_line} + ${#own} + 3))" -le "$columns" ]; then
        echo "$control_plane_line; $own"
    else
        # They take turns.
        [ "$((elapsed / 4 % 2))" -eq 0 ] && echo "$control_plane_line" || echo "$own"
    fi
}

# finished: whether our programs are built
finished() { grep -aqE '^ *Finished ' "$scratch/cargo.log"; }

started=$SECONDS
: >"$scratch/cargo.log"
columns=1000
[ ! -t 2 ] || columns=$(tput cols 2>/dev/null) || columns=80
# One build for both: apart, they would be compiled with different features of what they share, each with its own.
CARGO_TERM_PROGRESS_WHEN=always CARGO_TERM_PROGRESS_WIDTH=100 \
    cargo build --locked --bin steersman --example demo >"$scratch/cargo.log" 2>&1 &
programs=$!
case " $* " in
    *" --kubeconfig"*) needs_control_plane=false ;;
    *) needs_control_plane=true ;;
esac
if $needs_control_plane; then
    STEERSMAN_PROGRESS="$scratch/control-plane" build/control-plane.sh --of demo >"$scratch/folder" &
    control_plane=$!
    follow "$control_plane" how_far
    rm -f "$scratch/control-plane"
    status=0
    wait "$control_plane" || status=$?
    control_plane=
    # It has said why; where ours have failed first, it was stopped.
    [ "$status" -eq 0 ] || ! { finished || kill -0 "$programs" 2>/dev/null; } || exit "$status"
fi
follow "$programs" how_far
status=0
wait "$programs" || status=$?
programs=
if [ "$status" -ne 0 ]; then
    tr '\r' '\n' <"$scratch/cargo.log" |
        grep -avE '^ *(Building|Compiling|Downloading|Downloaded|Fetching) |^[[:space:]]*$' >&2 || true
    say "cannot build the demo"
    exit "$status"
fi
seconds=$(cat "$scratch/seconds" 2>/dev/null || echo 0)
[ "$seconds" -lt 10 ] || remember demo/steersman "$seconds"
[ "$((SECONDS - started))" -lt 10 ] || say "built in $((SECONDS - started)) s"
! $needs_control_plane || KUBEBUILDER_ASSETS=$(tail -n 1 "$scratch/folder")
export KUBEBUILDER_ASSETS
rm -rf "$scratch"
exec cargo run --locked --quiet --example demo -- "$@"
