#!/usr/bin/env bash
# Builds Steersman and the program that measures operators, and has it measure ours and the Go helm-operator on one
# control plane. `make bench-operator` calls it.
#
#   benches/operator.sh [FLAGS OF bench-operator]     for example --resources 50 --foreign 0
#
# HELM_OPERATOR: the Go helm-operator's binary (`go build ./cmd/helm-operator` in a checkout of operator-sdk; the module
# can't be installed by its name). Without it Steersman is measured alone, and no ratio is printed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

say() { printf 'bench: %s\n' "$*" >&2; }

assets="$(build/control-plane.sh)"
say "building Steersman"
make --no-print-directory build TARGET= >&2
cargo build --locked --quiet --example bench-operator
target="${CARGO_TARGET_DIR:-$root/target}"

peer=()
if [ -n "${HELM_OPERATOR:-}" ]; then
    peer=(--helm-operator "$HELM_OPERATOR")
else
    say "HELM_OPERATOR names no binary of the Go helm-operator: Steersman is measured alone"
fi
KUBEBUILDER_ASSETS="$assets" exec "$target/debug/examples/bench-operator" --steersman "$target/release/steersman" "${peer[@]}" "$@"
