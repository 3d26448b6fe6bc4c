#!/usr/bin/env bash
# Everything that must hold before a change lands, quickest first. `make test` and CI call it.
#
#   build/test.sh --quick     format, lints, and the tests that need no control plane: `make quick`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. build/progress.sh

run=test
[ "${1:-}" != --quick ] || run=quick
scratch=$(mktemp -d "${TMPDIR:-/tmp}/steersman-test-XXXXXX")
programs=
clean_up() {
    [ -z "$programs" ] || kill "$programs" 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# step NAME TITLE: ends the step before
step() {
    end_step
    step_name=$1
    step_started=$SECONDS
    printf '\n== %s%s\n' "$2" "$(last_time "$run/$1")"
}
end_step() {
    [ -n "${step_name:-}" ] || return 0
    remember "$run/$step_name" "$((SECONDS - step_started))"
    printf '== %d s\n' "$((SECONDS - step_started))"
}

format() {
    step format "format"
    cargo fmt --all --check
}

lints() {
    step lints "lints"
    cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
}

# The programs that judge, Ansible and the browser, one after the other; the control plane's folder comes first.
build_programs() {
    local builder=
    trap '[ -z "$builder" ] || kill "$builder" 2>/dev/null; exit 130' TERM
    for set_name in control-plane registry bundle-judge kstatus-judge cel-judge prometheus; do
        build/control-plane.sh --of "$set_name" >>"$scratch/folders" &
        builder=$!
        wait "$builder"
    done
    for script in ansible browser; do
        "build/$script.sh" >>"$scratch/folders" &
        builder=$!
        wait "$builder"
    done
}

# targets_without NAME…: options for the test targets of the workspace but these
targets_without() {
    local file name
    printf -- '--lib --bins'
    for file in tests/*.rs tests/*/main.rs crates/*/tests/*.rs crates/*/tests/*/main.rs; do
        name=${file%/main.rs}
        name=$(basename "$name" .rs)
        [[ " $* " == *" $name "* ]] || printf -- ' --test %s' "$name"
    done
}

if [ "$run" = quick ]; then
    format
    lints
    step tests "tests without a control plane"
    # Without those that start a control plane, or the program hundreds of times.
    # shellcheck disable=SC2046 # a list of options
    cargo test --locked --workspace --no-fail-fast --quiet \
        $(targets_without cluster api_server bundle cli node assets browser skip watchdog runner)
    end_step
    printf '\n== all of it holds (%d s%s)\n' "$SECONDS" "$(last_time quick/all)"
    remember quick/all "$SECONDS"
    exit
fi

# Where they are missing, they are built while others of our own are.
build_programs &
programs=$!

format
lints

step documentation "documentation"
# With an example, Cargo takes the features of what tests need, too, and so finds what the lints have read; this one is small.
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet --lib --example files

step compile "tests are compiled"
cargo test --locked --workspace --no-run --quiet

step programs "programs of others"
wait "$programs"
programs=
KUBEBUILDER_ASSETS=$(head -n 1 "$scratch/folders")
export KUBEBUILDER_ASSETS

step chart "example chart, judged by Helm"
HELM="$KUBEBUILDER_ASSETS/helm" helm-charts/visitors/ci/check.sh

# What talks to a control plane waits for it most of the time, so more of it runs at once, and beside the rest, which takes
# as long. Runs of Ansible take all processors, and beside them nothing would be in time: they come last, few at once.
step tests "tests"
cluster=(cargo test --locked --workspace --no-fail-fast --test cluster --)
ansible=(runs:: run_settings:: roles::tasks:: scaffold::tutorial::)
"${cluster[@]}" --test-threads=6 "${ansible[@]/#/--skip=}" >"$scratch/cluster" 2>&1 &
programs=$!
status=0
# shellcheck disable=SC2046 # a list of options
STEERSMAN_FIGURES="$scratch/figures" cargo test --locked --workspace --no-fail-fast $(targets_without cluster runner) || status=$?
cargo test --locked --workspace --no-fail-fast --doc || status=$?
wait "$programs" || status=$?
programs=
cat "$scratch/cluster"

step ansible "tests that run Ansible"
cargo test --locked --workspace --test runner -- --test-threads=2 || status=$?
"${cluster[@]}" --test-threads=2 "${ansible[@]}" || status=$?
end_step
[ "$status" -eq 0 ] || exit "$status"

# The figures come last on the screen. Where one is missing, the tests above have said what they skipped, and why.
printf '\n== agreement with Helm\n'
cat "$scratch/figures" 2>/dev/null || true
for figure in functions corpus; do
    grep -q "^$figure: " "$scratch/figures" 2>/dev/null || echo "skipped: $figure"
done

printf '\n== all of it holds (%d s%s)\n' "$SECONDS" "$(last_time test/all)"
remember test/all "$SECONDS"
