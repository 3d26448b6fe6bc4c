#!/usr/bin/env bash
# Builds Steersman and the program that measures operators, and has it measure ours and the Go operator of the same contract
# on one control plane; or our page beside kubectl. `make bench-operator`, `make bench-ansible` and `make bench-page` call it.
#
#   benches/operator.sh charts [FLAGS OF bench-operator charts]   for example --resources 50 --foreign 0
#   benches/operator.sh roles [FLAGS OF bench-operator roles]     for example --resources 0 --foreign 0 --installs 10
#   benches/operator.sh page [FLAGS OF bench-operator page]       for example --resources 500 --times 3
#
# HELM_OPERATOR: the Go helm-operator's binary (`go build ./cmd/helm-operator` in a checkout of operator-sdk; the module
# can't be installed by its name). ANSIBLE_OPERATOR: the Go ansible-operator's, of ansible-operator-plugins. Without it
# Steersman is measured alone, and no ratio is printed.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

say() { printf 'bench: %s\n' "$*" >&2; }

content="${1:-}"
case "$content" in
    charts) variable=HELM_OPERATOR ;;
    roles) variable=ANSIBLE_OPERATOR ;;
    page) variable= ;;
    *) say "say what to measure: charts, roles or page"; exit 2 ;;
esac
shift

assets="$(build/control-plane.sh)"
[ "$content" != roles ] || build/ansible.sh >/dev/null
say "building Steersman"
make --no-print-directory build TARGET= >&2
cargo build --locked --quiet --example bench-operator
target="${CARGO_TARGET_DIR:-$root/target}"

peer=()
if [ -z "$variable" ]; then
    PATH="$assets:$PATH" # its kubectl is the peer
elif [ -n "${!variable:-}" ]; then
    peer=(--peer "${!variable}")
else
    say "$variable names no binary of the Go operator: Steersman is measured alone"
fi
KUBEBUILDER_ASSETS="$assets" exec "$target/debug/examples/bench-operator" "$content" --steersman "$target/release/steersman" "${peer[@]}" "$@"
