#!/usr/bin/env bash
# Everything that must hold before a change lands, quickest first. `make test` and CI call it.
#
#   build/test.sh --quick     format, lints, and the tests that need no control plane: `make quick`
#
#   TEST_MINUTES    so long it may take: tests on the control plane that have not ended by then are left out, which is said
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
trap 'tell_stopped >&2; exit 130' INT TERM HUP

# Where it is stopped, the last lines may be all that is left: which step it was, and what tests have not ended.
tell_stopped() {
    printf '\n== stopped after %d s, in: %s\n' "$SECONDS" "${step_name:-}"
    cat "$scratch/steps" 2>/dev/null || true
    local log
    for log in "$scratch"/{cluster,ansible,campaigns}; do
        [ ! -s "$log" ] || tell_tests "$log"
    done
}

# tell_tests LOG: what has become of the tests of a run that was stopped
tell_tests() {
    awk '
        /^running / { of += $2 }
        / has been running for over / { long[$2] }
        /^test .* \.\.\. / { delete long[$2] }
        /^test .* \.\.\. ok$/ { passed++ }
        /^test .* \.\.\. FAILED$/ { print "failed on the control plane: " $2 }
        END {
            for (name in long) print "has run for more than 60 s: " name
            print "passed on the control plane: " passed + 0 " of " of + 0
        }' "$1"
}

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
    echo "$step_name: $((SECONDS - step_started)) s" >>"$scratch/steps"
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

# cluster LOG THREADS OPTION…: runs tests on the control plane, as long as there is time
cluster() (
    log=$1 limit=() code=0 runner=
    trap '[ -z "$runner" ] || kill "$runner" 2>/dev/null; exit 130' TERM
    if [ -n "${TEST_MINUTES:-}" ]; then
        left=$((TEST_MINUTES * 60 - SECONDS))
        limit=(timeout "$((left > 1 ? left : 1))")
    fi
    "${limit[@]}" cargo test --locked --workspace --no-fail-fast --test cluster -- --test-threads="$2" "${@:3}" >"$log" 2>&1 &
    runner=$!
    wait "$runner" || code=$?
    [ "$code" -eq 124 ] || exit "$code"
    # What has failed has not said why.
    printf '\n== LEFT OUT: %s minutes are over\n' "$TEST_MINUTES" >>"$scratch/left-out"
    tell_tests "$log" >>"$scratch/left-out"
    ! grep -q '^test .* FAILED$' "$log"
)

# What talks to a control plane waits for it most of the time, so more of it runs at once, and beside the rest, which takes
# as long. Runs of Ansible take all processors, and beside them nothing would be in time: they come later, few at once. What tries
# each request of a workload takes longest, and comes last.
step tests "tests"
ansible=(runs:: run_settings:: roles::tasks:: scaffold::tutorial::)
campaigns=(faults::campaign:: faults::claims:: procedures::faults:: public_charts::)
later=("${ansible[@]}" "${campaigns[@]}")
cluster "$scratch/cluster" 6 "${later[@]/#/--skip=}" &
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
cluster "$scratch/ansible" 2 "${ansible[@]}" || status=$?
cat "$scratch/ansible"

step campaigns "faults at each request, and public charts"
cluster "$scratch/campaigns" 6 "${campaigns[@]}" || status=$?
cat "$scratch/campaigns"
end_step
cat "$scratch/left-out" 2>/dev/null || true
[ "$status" -eq 0 ] || exit "$status"

# The figures come last on the screen. Where one is missing, the tests above have said what they skipped, and why.
printf '\n== agreement with Helm\n'
cat "$scratch/figures" 2>/dev/null || true
for figure in functions corpus; do
    grep -q "^$figure: " "$scratch/figures" 2>/dev/null || echo "skipped: $figure"
done

if [ -s "$scratch/left-out" ]; then
    printf '\n== what was run holds (%d s)\n' "$SECONDS"
    exit
fi
printf '\n== all of it holds (%d s%s)\n' "$SECONDS" "$(last_time test/all)"
remember test/all "$SECONDS"
