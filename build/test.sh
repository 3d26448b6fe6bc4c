#!/usr/bin/env bash
# Everything that must hold before a change lands, quickest first. `make test` and CI call it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

started=$SECONDS
step() { printf '\n== %s (%d s)\n' "$*" "$((SECONDS - started))"; }

step "control plane"
KUBEBUILDER_ASSETS="$(build/control-plane.sh)"
export KUBEBUILDER_ASSETS
build/control-plane.sh --of registry >/dev/null
build/control-plane.sh --of bundle-judge >/dev/null

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

step "example chart, judged by Helm"
HELM="$KUBEBUILDER_ASSETS/helm" helm-charts/visitors/ci/check.sh

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet

step "tests"
cargo test --locked --workspace --no-fail-fast

# Once more by name, so that the figures are the last thing on the screen. The whole workspace is named, as above:
# one package alone would be compiled anew, with other features of its dependencies.
step "agreement with Helm"
figures=$(cargo test --locked --workspace --test functions --test corpus -- --nocapture 2>&1) || {
    printf '%s\n' "$figures"
    exit 1
}
grep -E '^(functions|corpus|skipped)' <<<"$figures"

step "all of it holds"
