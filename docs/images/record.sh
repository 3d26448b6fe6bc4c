#!/usr/bin/env bash
# Records the session of the README's picture on a control plane of its own, and draws it. No node runs there: this script
# says of each pod that it is ready, as a kubelet would.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -z ${RECORD_KUBECONFIG:-} ]]; then
    cargo build --locked --quiet
    export KUBEBUILDER_ASSETS="${KUBEBUILDER_ASSETS:-$(build/control-plane.sh)}"
    # shellcheck disable=SC2016 # The kubeconfig is that of the control plane.
    exec cargo run --locked --quiet -p steersman-testkit --features cluster -- \
        run bash -c 'RECORD_KUBECONFIG=$KUBECONFIG exec docs/images/record.sh'
fi
export KUBECONFIG=$RECORD_KUBECONFIG
steersman=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/steersman

folder=$(mktemp -d)
mkdir "$folder/shop-operator"
(
    cd "$folder/shop-operator"
    "$steersman" init --domain example.com --kind Shop
    "$steersman" deploy --kustomize-dir config/crd
) 2> /dev/null
(cd "$folder/shop-operator" && exec "$steersman" run --metrics-bind-address=0 --health-probe-bind-address=0) 2> /dev/null &
operator=$!
while sleep 0.5; do
    for pod in $(kubectl get pods -o name); do
        kubectl patch "$pod" --subresource=status --type=merge -p '{"status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
            "containerStatuses": [{"name": "app", "ready": true, "restartCount": 0, "image": "nginx", "imageID": "",
                "state": {"running": {}}}]}}'
    done
done > /dev/null 2>&1 &
kubelet=$!
trap 'kill $operator $kubelet; rm -r "$folder"' EXIT

UPDATE_EXPECT=1 cargo test --locked --quiet -p steersman --test documents picture::the_session
UPDATE_EXPECT=1 cargo test --locked --quiet -p steersman --test documents picture::the_picture
