#!/usr/bin/env bash
# The operator of this project on a real node. build/node.sh starts it as the first process of namespaces of its own.
#
# What it proves: the image of `steersman build` runs where `restricted` is enforced, with a ServiceAccount's token and the
# role of deploy/; pods of its releases really run; an upgrade of the operator, and its death, leave them serving; it comes
# back and heals what changed meanwhile; and it goes without leaving anything. Its page runs in a pod, too (page.sh). The same
# for the site as roles, in an image upon one with Python: its runs have what the image and config/manager give them, and no
# more. A release of several stages goes through them (pravega.sh). A cluster of real etcd is resized, backed up, upgraded and
# restored (etcd.sh). A database is backed up, restored and upgraded (mysql.sh). And a new project passes its scenarios of
# molecule.
set -Eeuo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
say() { printf 'node: %s\n' "$*"; }

fail() {
    say "FAILED: $*" >&2
    show_state >&2 || true
    exit 1
}

# What somebody needs who has to find out why.
show_state() {
    trap - ERR
    [ -S "$CONTAINERD_ADDRESS" ] || { tail -n 20 "$work"/*.log; return; }
    kubectl get pods --all-namespaces -o wide
    kubectl get visitorssites,pravegaclusters,etcdclusters,etcdbackups,etcdresizes,etcdrestores,mysqls,mysqlbackups,mysqlrestores --all-namespaces -o yaml
    kubectl get events --all-namespaces --field-selector type!=Normal
    kubectl logs --namespace "$namespace" "deployment/$operator" --tail=40
    kubectl logs --namespace "$namespace" "deployment/$operator" --tail=20 --previous
    tail -n 15 "$work/kubelet.log" "$work/containerd.log"
}

# shellcheck source-path=SCRIPTDIR
source "$here/cluster.sh"
# shellcheck source-path=SCRIPTDIR
source "$here/page.sh"
# shellcheck source-path=SCRIPTDIR
source "$here/pravega.sh"
# shellcheck source-path=SCRIPTDIR
source "$here/etcd.sh"
# shellcheck source-path=SCRIPTDIR
source "$here/mysql.sh"

site=museum
# Where commands write what they have said.
logs=$work

# Which operator it is: its namespace, its Deployment, its label, the namespace of its releases, and the kustomization that
# brings it.
of_charts() {
    namespace=visitors-operator-system operator=visitors-operator application=visitors-operator tenant=$site
    kustomization="$here/../../deploy"
}
of_roles() {
    namespace=visitors-ansible-system operator=visitors-ansible-controller-manager application=visitors-ansible tenant=$site
    kustomization="$here/../../examples/visitors-ansible/config/default"
}
of_charts

main() {
    trap 'exit 130' INT TERM
    trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
    # Sockets and links at the places that kubelet and containerd insist on, for these processes alone.
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /var/log
    own_cgroups

    say "starting a cluster of one node"
    start_cluster
    local image
    for image in "$work"/images/*.tar; do
        ctr images import "$image" >/dev/null
    done

    ask_by_other_name
    deploy_operator v1
    install_site
    look_at_page
    start_visitors
    upgrade_operator
    kill_operator
    print_memory
    stop_visitors
    undeploy
    nothing_is_left

    local began=$SECONDS
    start dns "$work/dns" "$node_address:53" "https://$node_address" "$work/ca.crt" "$work/admin.crt" "$work/admin.key"
    at_once run_pravega run_etcd run_mysql
    # shellcheck disable=SC2154 # start has set it
    kill "$pid_dns"
    nothing_is_left
    say "stages, etcd and MySQL: $((SECONDS - began)) s"

    began=$SECONDS
    of_roles
    deploy_operator v1
    install_site_by_roles
    heal_by_roles
    print_memory
    undeploy
    nothing_is_left
    test_project local
    test_project default
    say "all of it holds ($SECONDS s, $((SECONDS - began)) of them for roles)"
}

# They wait for pods most of the time: each has an operator and a namespace of its own.
run_pravega() {
    of_pravega
    deploy_operator v1
    pravega
    undeploy
}
run_etcd() {
    of_etcd
    deploy_operator v1
    vaults
    undeploy
    leave_volumes
}
run_mysql() {
    of_mysql
    deploy_operator v1
    database
    undeploy
    leave_volumes
}

# at_once FUNCTION…: each in a shell of its own. What one has said is shown when it has ended.
at_once() {
    local each failed='' shells=()
    for each in "$@"; do
        logs=$work/$each
        mkdir "$logs"
        "$each" >"$logs/said" 2>&1 &
        shells+=("$!")
    done
    for each in "$@"; do
        wait "${shells[0]}" || failed=${failed:-$each}
        shells=("${shells[@]:1}")
        cat "$work/$each/said"
    done
    logs=$work
    [ -z "$failed" ] || fail "$failed"
}

# Dockerfiles and scripts of helm-operator's projects know the program by that name.
ask_by_other_name() {
    local answer
    answer=$(ctr run --rm registry.test/visitors-operator:v1 name /usr/local/bin/helm-operator version)
    [[ $answer == helm-operator* ]] || fail "the image answers as helm-operator: $answer"
}

deploy_operator() {
    "$steersman" deploy --kustomize-dir "$kustomization" --image "registry.test/$application:$1" \
        >"$logs/deploy.log" 2>&1 || fail "steersman deploy: $(cat "$logs/deploy.log")"
    [ "$(kubectl get namespace "$namespace" -o jsonpath='{.metadata.labels.pod-security\.kubernetes\.io/enforce}')" = restricted ]
    say "the operator $application:$1 runs, where \`restricted\` is enforced"
}

create_site() {
    kubectl create namespace "$site" >/dev/null
    kubectl label namespace "$site" pod-security.kubernetes.io/enforce=restricted >/dev/null
    kubectl apply --namespace "$site" -f - >/dev/null <<END
apiVersion: example.com/v1alpha1
kind: VisitorsSite
metadata: {name: $site}
spec:
  global: {imageRegistry: registry.test}
  frontend: {replicas: 2}
  backend: {replicas: 2}
  database: {persistence: {enabled: false}}
END
}

install_site() {
    create_site
    kubectl wait --namespace "$site" --for=condition=Ready "visitorssite/$site" --timeout=180s >/dev/null
    [ "$(kubectl get pods --namespace "$site" --field-selector=status.phase=Running -o name | wc -l)" = 5 ]
    # A reader that stops early would make kubectl fail.
    grep -q 'Installed release' <<<"$(kubectl logs --namespace "$namespace" "deployment/$operator")"
    page_says '<title>Visitors Site</title>'
    say "the site is Ready: its five pods run and serve the page"
}

install_site_by_roles() {
    local began=$SECONDS
    create_site
    kubectl wait --namespace "$site" --for=condition=Successful "visitorssite/$site" --timeout=300s >/dev/null
    local run=$((SECONDS - began))
    kubectl wait --namespace "$site" --for=condition=Available deployment --all --timeout=120s >/dev/null
    kubectl wait --namespace "$site" --for=jsonpath='{.status.readyReplicas}'=1 "statefulset/$site-mysql" --timeout=120s >/dev/null
    page_says '<title>Visitors Site</title>'
    say "the roles have made the site in $run s: its five pods run and serve the page"
}

heal_by_roles() {
    kubectl scale --namespace "$site" "deployment/$site-backend" --replicas=1 >/dev/null
    kubectl delete --namespace "$site" "service/$site-backend" >/dev/null
    kubectl wait --namespace "$site" --for=jsonpath='{.spec.replicas}'=2 "deployment/$site-backend" --timeout=180s >/dev/null
    kubectl wait --namespace "$site" --for=create "service/$site-backend" --timeout=180s >/dev/null
    kubectl wait --namespace "$site" --for=condition=Successful "visitorssite/$site" --timeout=180s >/dev/null
    say "a run has healed what was changed"
}

# test_project SCENARIO: what molecule says of a new project
test_project() {
    local began=$SECONDS log="$work/molecule-$1.log"
    # There is no Galaxy to ask for what requirements.yml names; what the role needs is there.
    echo 'prerun: false' >"$work/molecule.yml"
    (
        export PATH="$molecule/bin:$PATH" ANSIBLE_COLLECTIONS_PATH="$molecule/collections" XDG_CACHE_HOME="$work/cache"
        export STEERSMAN="$steersman" KUSTOMIZE_PATH="$kustomize/kustomize" NO_COLOR=1
        export OPERATOR_IMAGE=registry.test/memcached-operator:v1 OPERATOR_PULL_POLICY=Never
        cd "$work/project" && molecule --base-config "$work/molecule.yml" test --scenario-name "$1"
    ) >"$log" 2>&1 || fail "molecule test -s $1: $(tail -n 60 "$log")"
    # Each scenario asks whether what the role makes is there.
    grep -q 'Look for the ConfigMap' "$log" || fail "molecule test -s $1 has tested nothing: $(cat "$log")"
    say "\`molecule test -s $1\` passes ($((SECONDS - began)) s)"
}

# The page, from one of the pods that the Service would send a visitor to.
page() {
    local address
    for address in $(endpoints); do
        "$work/get" "http://$address:8080/" 2>/dev/null && return
    done
    return 1
}

endpoints() {
    kubectl get endpointslices --namespace "$site" -l "kubernetes.io/service-name=$site-frontend" \
        -o jsonpath='{range .items[*].endpoints[?(@.conditions.ready==true)]}{.addresses[0]} {end}'
}

# Visitors come all the time; who finds nobody is written down. A pod that ends while somebody comes to it is in the list
# still, so a visitor asks twice, as browsers do.
start_visitors() {
    (
        trap 'exit 0' TERM
        trap - ERR
        set +e
        count=0
        while :; do
            if visit || visit; then count=$((count + 1)); else date +%T >>"$work/turned-away"; fi
            echo "$count" >"$work/visits"
            sleep 0.1
        done
    ) &
    visitors=$!
}

visit() { page_says '<title>'; }

stop_visitors() {
    kill "$visitors"
    wait "$visitors" || true
    [ ! -e "$work/turned-away" ] || fail "visitors were turned away at $(tr '\n' ' ' <"$work/turned-away")"
    local visits
    visits=$(cat "$work/visits")
    [ "$visits" -gt 20 ] || fail "only $visits visitors came"
    say "$visits visitors came during the upgrade and the operator's death, and none was turned away"
}

upgrade_operator() {
    deploy_operator v2
    until_true 120 "the new chart reaches the page" page_says 'second edition'
    kubectl wait --namespace "$site" --for=condition=Ready "visitorssite/$site" --timeout=120s >/dev/null
    say "the new chart reached the site"
}

page_says() {
    local text
    text=$(page) && grep -q "$1" <<<"$text"
}

# ctr kills the process, and the node starts it again. What changes in between is drift.
kill_operator() {
    local before
    before=$(operator_container)
    ctr task kill --signal SIGKILL "$before"
    kubectl scale --namespace "$site" "deployment/$site-backend" --replicas=1 >/dev/null
    kubectl delete --namespace "$site" "service/$site-backend" >/dev/null
    until_true 120 "the operator comes back" is_back "$before"
    kubectl wait --namespace "$site" --for=jsonpath='{.spec.replicas}'=2 \
        "deployment/$site-backend" --timeout=60s >/dev/null
    kubectl wait --namespace "$site" --for=create "service/$site-backend" --timeout=60s >/dev/null
    kubectl wait --namespace "$site" --for=condition=Ready "visitorssite/$site" --timeout=120s >/dev/null
    say "the operator was killed, came back, and healed what had changed meanwhile"
}

# The container of the youngest pod: the one before it may not be gone yet.
operator_container() {
    kubectl get pods --namespace "$namespace" -l "app.kubernetes.io/name=$application" \
        --sort-by=.metadata.creationTimestamp \
        -o jsonpath='{.items[-1:].status.containerStatuses[0].containerID}' | sed 's|.*//||'
}

is_back() {
    local now
    now=$(operator_container)
    [ -n "$now" ] && [ "$now" != "$1" ] &&
        kubectl wait --namespace "$namespace" --for=condition=Available "deployment/$operator" --timeout=1s
}

print_memory() {
    local process
    process=$(ctr task ls | awk -v id="$(operator_container)" '$1 == id { print $2 }')
    say "memory of the operator: $(awk '/^VmRSS/ { printf "%.1f MB", $2 / 1000 }' "/proc/$process/status") resident, $(group_memory "$process") in its cgroup"
}

# The memory that the kernel counts for a process' cgroup, of either version.
group_memory() {
    local path file
    path=$(awk -F: '$2 == "memory" || $2 == "" { print $3; exit }' "/proc/$1/cgroup")
    for file in "/sys/fs/cgroup/memory$path/memory.usage_in_bytes" "/sys/fs/cgroup$path/memory.current"; do
        [ -r "$file" ] && awk '{ printf "%.1f MB", $1 / 1e6 }' "$file" && return
    done
    echo "an unknown amount"
}

undeploy() {
    if "$steersman" undeploy --kustomize-dir "$kustomization" >"$logs/undeploy.log" 2>&1; then
        fail "the operator was taken away from a resource that needs it"
    fi
    kubectl get namespace "$namespace" >/dev/null
    "$steersman" undeploy --kustomize-dir "$kustomization" --cascade >"$logs/undeploy.log" 2>&1 ||
        fail "steersman undeploy: $(cat "$logs/undeploy.log")"
    [ "$application" != pravega ] || leave_zookeeper
    [ "$application" != mysql ] || leave_database
    # Pods end after what had them made.
    until_true 60 "the release leaves nothing behind" nothing_of_release
    kubectl delete namespace "$tenant" --timeout=90s >/dev/null
    say "the release and the operator are gone"
}

nothing_of_release() {
    local left
    left=$(kubectl get all,configmaps,secrets,serviceaccounts --namespace "$tenant" -o name) || return
    [ -z "$(grep -vE '^(configmap/kube-root-ca.crt|serviceaccount/default)$' <<<"$left")" ]
}

nothing_is_left() {
    local left
    left=$(kubectl get customresourcedefinitions,clusterroles,clusterrolebindings,namespaces,pods,leases,persistentvolumes \
        --all-namespaces -o name | grep -E 'visitors|museum|pravega|streams|etcd|vault|mysql|shop|pod/|volume/' || true)
    [ -z "$left" ] || fail "left behind: $left"
    until_true 60 "the last container ends" no_container
    say "nothing is left"
}

no_container() { [ -z "$(ctr containers ls --quiet)" ]; }

main
