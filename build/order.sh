#!/usr/bin/env bash
# Writes down which functions an operator calls, so that the linker puts them together: `make build` uses the file when it
# is there. `make order` calls this.
#
# Around each page that is touched the system maps fifteen more. A fifth of the program is what an operator needs, and
# scattered over all of it that keeps nearly all of it in memory.
#
# The names are those of one compilation. Another one has others, so that those are skipped which it does not know.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

say() { printf 'order: %s\n' "$*" >&2; }

if ! command -v valgrind >/dev/null; then
    say "valgrind is missing, which sees what is called"
    exit 1
fi
target="${CARGO_TARGET_DIR:-$root/target}"
order="$target/release/steersman.order"
assets="$(build/control-plane.sh)"
rm -f "$order"
say "building Steersman with the names of its functions"
make --no-print-directory build TARGET= SYMBOLS=1 >&2

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp "$target/release/steersman" "$scratch/steersman"

say "running the example operator, which takes some minutes"
cat >"$scratch/train" <<'TRAIN'
#!/usr/bin/env bash
set -euo pipefail
kubectl apply -f deploy/crds/ >/dev/null
kubectl wait --for=condition=Established crd/visitorssites.example.com >/dev/null
valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file="$SCRATCH/calls" "$SCRATCH/steersman" run \
    --health-probe-bind-address=127.0.0.1:0 --metrics-bind-address=127.0.0.1:0 >"$SCRATCH/log" 2>&1 &
operator=$!
sites="apiVersion: example.com/v1alpha1
kind: VisitorsSite
metadata: {name: SITE}
spec: {}"
for site in one two three; do
    kubectl create -f - <<<"${sites/SITE/$site}" >/dev/null
done
for site in one two three; do
    kubectl wait --timeout=300s --for=jsonpath='{.status.revision}'=1 "visitorssite/$site" >/dev/null
done
# What others change is put back, and what its author changes is another revision.
kubectl delete deployment --all >/dev/null
kubectl patch visitorssite two --type=merge --patch='{"spec": {"title": "Another"}}' >/dev/null
kubectl wait --timeout=300s --for=jsonpath='{.status.revision}'=2 visitorssite/two >/dev/null
kubectl delete visitorssite three --timeout=300s >/dev/null
kill -TERM "$operator"
wait "$operator" || true
TRAIN
chmod +x "$scratch/train"
if ! SCRATCH="$scratch" KUBEBUILDER_ASSETS="$assets" PATH="$assets:$PATH" \
    cargo run --locked --quiet -p steersman-testkit --features cluster -- run "$scratch/train" >&2; then
    tail -n 20 "$scratch/log" >&2
    exit 1
fi

# Of each function that was called, its name; `fn=(7) NAME` says it once, and what recursion adds stands behind a mark.
sed -nE "s/^c?fn=\([0-9]+\) ([^']+).*/\1/p" "$scratch/calls" | LC_ALL=C sort -u >"$order"
say "$(wc -l <"$order") functions are in $order"
