# examples/pravega on the node: parts that refuse to run without each other, installed, scaled and upgraded stage by stage, and a
# ZookeeperCluster of another operator, whose part this script plays. To be sourced by test.sh.

of_pravega() {
    namespace=pravega-system operator=pravega-controller-manager application=pravega tenant=streams
    kustomization="$here/../../examples/pravega/config/default"
}

pravega() {
    await_zookeeper
    install_pravega
    scale_pravega
    stop_at_a_bookie
    upgrade_pravega
    print_memory
}

# cluster ARGUMENTS…: kubectl on the PravegaCluster
cluster() { kubectl "$1" --namespace "$tenant" "pravegacluster/west" "${@:2}"; }

# change SPEC: merges it into the resource's spec
change() { cluster patch --type=merge --patch "{\"spec\": $1}" >/dev/null; }

# says CONDITION REASON: whether the condition is true for this reason
says() { [ "$(cluster get -o jsonpath="{.status.conditions[?(@.type==\"$1\")].status} {.status.conditions[?(@.type==\"$1\")].reason}")" = "True $2" ]; }

# message CONDITION
message() { cluster get -o jsonpath="{.status.conditions[?(@.type==\"$1\")].message}"; }

# stages: as in "bookkeeper Ready, controller Progressing, "
stages() { cluster get -o jsonpath='{range .status.stages[*]}{.name} {.state}, {end}'; }

# pods PART FIELD: of each pod of the part
pods() {
    kubectl get pods --namespace "$tenant" -l "app.kubernetes.io/component=$1" -o jsonpath="{range .items[*]}$2{\"\\n\"}{end}" | sort
}

# runs PART COUNT VERSION: whether the part has as many pods, all ready and of this version
runs() {
    local found
    found=$(pods "$1" '{.status.containerStatuses[0].ready} {.spec.containers[0].image}' | sed 's/ .*:/ /')
    [ "$(grep -cx "true $3" <<<"$found")" = "$2" ] && [ "$(wc -l <<<"$found")" = "$2" ]
}

# behind PART OTHER: whether every pod of a part was made when all of the other one were ready
behind() {
    local first last
    first=$(pods "$1" '{.metadata.creationTimestamp}' | head -n 1)
    last=$(pods "$2" '{.status.conditions[?(@.type=="Ready")].lastTransitionTime}' | tail -n 1)
    [[ ! $first < $last ]] || fail "a pod of the $1 is of $first, and a $2 was ready at $last"
}

in_order() { behind controller bookie && behind segmentstore controller; }

# Nobody has asked twice for what it needs: whatever starts finds it there.
none_has_failed() {
    local failed
    failed=$(kubectl get pods --namespace "$tenant" -o json | grep -E '"restartCount": [1-9]' || true)
    [ -z "$failed" ] || fail "a program was started before what it needs"
}

# The release waits for a kind that is not served, then for an object that is not there, then for one that is not ready.
await_zookeeper() {
    kubectl create namespace "$tenant" >/dev/null
    kubectl label namespace "$tenant" pod-security.kubernetes.io/enforce=restricted >/dev/null
    kubectl apply --namespace "$tenant" -f - >/dev/null <<END
apiVersion: pravega.example.com/v1alpha1
kind: PravegaCluster
metadata: {name: west}
spec:
  version: 0.13.0
  image: {registry: registry.test}
  bookkeeper: {storage: {enabled: false}}
END
    until_true 30 "the kind is waited for" says Reconciling DependencyNotReady
    kubectl apply -f "$here/pravega/zookeepercluster.yaml" >/dev/null
    kubectl wait --for=condition=Established crd/zookeeperclusters.zookeeper.pravega.io --timeout=30s >/dev/null
    kubectl apply --namespace "$tenant" -f "$here/pravega/zookeeper.yaml" >/dev/null
    kubectl wait --namespace "$tenant" --for=condition=Ready pod/zookeeper-0 --timeout=60s >/dev/null
    says Reconciling DependencyNotReady || fail "nothing is waited for: $(message Reconciling)"
    [ -z "$(kubectl get statefulsets,deployments --namespace "$tenant" -o name | grep -v zookeeper)" ] ||
        fail "a part was begun without ZooKeeper"
    local address
    address=$(kubectl get --namespace "$tenant" pod/zookeeper-0 -o jsonpath='{.status.podIP}')
    kubectl patch --namespace "$tenant" zookeepercluster/zookeeper --subresource=status --type=merge \
        --patch "{\"status\": {\"readyReplicas\": 1, \"internalClientEndpoint\": \"$address:2181\"}}" >/dev/null
    say "Pravega has waited for the ZookeeperCluster of another operator"
}

install_pravega() {
    local began=$SECONDS
    cluster wait --for=condition=Ready --timeout=180s >/dev/null
    runs bookie 3 0.13.0 && runs controller 1 0.13.0 && runs segmentstore 1 0.13.0 || fail "Pravega is Ready, and not all of it runs"
    [ "$(stages)" = "unclaimed Ready, bookkeeper Ready, controller Ready, segmentstore Ready, " ] || fail "stages: $(stages)"
    in_order
    none_has_failed
    say "bookies, controller and segment store came one after the other in $((SECONDS - began)) s, and none has failed"
}

scale_pravega() {
    change '{"bookkeeper": {"replicas": 4}, "segmentStore": {"replicas": 2}}'
    until_true 120 "a bookie and a segment store more" runs_with 4 2 0.13.0
    cluster wait --for=condition=Ready --timeout=60s >/dev/null
    none_has_failed
    say "a bookie and a segment store more: all is Ready"
}

# runs_with BOOKIES SEGMENT-STORES VERSION
runs_with() { runs bookie "$1" "$3" && runs controller 1 "$3" && runs segmentstore "$2" "$3"; }

# An upgrade of which the first bookie hangs: nothing else is touched, whoever dies meanwhile.
stop_at_a_bookie() {
    change '{"version": "0.14.0"}'
    until_true 120 "the upgrade stops" says Stalled StageFailed
    stopped
    local before
    before=$(operator_container)
    ctr task kill --signal SIGKILL "$before"
    kubectl delete --namespace "$tenant" service/west-controller >/dev/null
    until_true 120 "the operator comes back" is_back "$before"
    kubectl wait --namespace "$tenant" --for=create service/west-controller --timeout=60s >/dev/null
    until_true 60 "the upgrade stands where it stood" says Stalled StageFailed
    stopped
    say "an upgrade with a bookie that hangs has stopped there, and was not begun again by the next process: $(message Stalled)"
}

stopped() {
    local images
    [ "$(stages)" = "unclaimed Ready, bookkeeper Failed, controller Pending, segmentstore Pending, " ] || fail "stages: $(stages)"
    [[ $(message Stalled) == *west-bookie* ]] || fail "it is not said who is not ready: $(message Stalled)"
    images=$(pods bookie '{.spec.containers[0].image}' | sed 's/.*://' | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')
    [ "$images" = "3 0.13.0 1 0.14.0 " ] || fail "more than one bookie was touched: $images"
    runs controller 1 0.13.0 && runs segmentstore 2 0.13.0 || fail "a later part was touched"
}

upgrade_pravega() {
    change '{"version": "0.14.1"}'
    until_true 180 "all is of the new version" runs_with 4 2 0.14.1
    cluster wait --for=condition=Ready --timeout=60s >/dev/null
    [ "$(stages)" = "unclaimed Ready, bookkeeper Ready, controller Ready, segmentstore Ready, " ] || fail "stages: $(stages)"
    in_order
    none_has_failed
    say "the version that works went through bookies, controller and segment stores in order"
}

leave_zookeeper() {
    kubectl delete --namespace "$tenant" --cascade=foreground -f "$here/pravega/zookeeper.yaml" --timeout=60s >/dev/null
    kubectl delete -f "$here/pravega/zookeepercluster.yaml" >/dev/null
}
