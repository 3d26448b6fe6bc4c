# A Kubernetes cluster of one node, in the namespaces that build/node.sh made: nothing of it is seen outside, and all of it
# ends with the first process in them. To be sourced, with these set:
#
#   assets   folder with etcd, kube-apiserver, kube-controller-manager, kubectl
#   node     folder with kubelet, kube-scheduler, containerd, its shim, ctr, runc
#   cni      folder with the CNI plugins ptp, host-local and loopback
#   work     folder for everything that is written

node_name=node-1
node_address=10.99.0.1
# The address of the Service `kubernetes`, which no proxy is there for: it is the API server's own.
service_address=10.0.0.1

export PATH="$assets:$node:$PATH" KUBECONFIG="$work/admin.kubeconfig"
export CONTAINERD_ADDRESS="$work/containerd.sock" CONTAINERD_NAMESPACE=k8s.io

# What it has to say beside its output, such as that a machine is old, is kept.
ctr() { command ctr "$@" 2>>"$work/ctr.log"; }

# start NAME COMMAND…: runs a part of the cluster, with its log in a file
start() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    printf -v "pid_${name//-/_}" %s "$!"
}

# until_true SECONDS WHAT COMMAND…: waits until the command succeeds
until_true() {
    local limit=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$limit" ] || fail "$what: not within the time"
        sleep 0.2
    done
}

start_cluster() {
    make_network
    make_certificates
    start etcd etcd --data-dir "$work/etcd" --unsafe-no-fsync --log-level error \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380
    start_api_server
    start controller-manager kube-controller-manager --kubeconfig "$KUBECONFIG" --leader-elect=false \
        --use-service-account-credentials --service-account-private-key-file "$work/service-account.key" \
        --root-ca-file "$work/ca.crt" --bind-address 127.0.0.1
    start scheduler kube-scheduler --kubeconfig "$KUBECONFIG" --leader-elect=false --bind-address 127.0.0.1
    start_container_runtime
    start_kubelet
    until_true 60 "the node is ready" kubectl wait --for=condition=Ready "node/$node_name" --timeout=10s
    until_true 30 "the ServiceAccount default" kubectl get serviceaccount default
}

# Shows the cgroups that these processes are in as the roots: what containers get is below them, and goes with them.
own_cgroups() {
    local kind place options controller
    # The last ones first: they may be mounted in the first ones.
    while read -r kind place options; do
        umount "$place"
        case $kind in
            cgroup2) mount -t cgroup2 cgroup2 "$place" ;;
            *) mount -t cgroup -o "$options" cgroup "$place" ;;
        esac
    done < <(awk '$3 ~ /^cgroup/ {
        controllers = ""
        count = split($4, option, ",")
        for (i = 1; i <= count; i++)
            if (option[i] !~ /^(rw|ro|nosuid|nodev|noexec|relatime|xattr|nsdelegate|memory_recursiveprot|release_agent=.*|clone_children)$/)
                controllers = controllers "," option[i]
        sub(/^,name=/, ",none,name=", controllers)
        print $3, $2, substr(controllers, 2)
    }' /proc/self/mounts | tac)
    [ -e /sys/fs/cgroup/cgroup.subtree_control ] || return 0
    # Of the second version: who hands controllers down has no processes of its own.
    mkdir /sys/fs/cgroup/node
    xargs -n 1 <"/sys/fs/cgroup/cgroup.procs" | while read -r process; do
        echo "$process" >/sys/fs/cgroup/node/cgroup.procs || true
    done
    for controller in cpu memory pids; do
        echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control
    done
}

# kubelet wants an address that is not the machine's own, and containers a way to it.
make_network() {
    ip link set lo up
    ip link add node0 type veth peer name node1
    ip addr add "$node_address/24" dev node0
    ip link set node0 up
    ip link set node1 up
    ip route add default dev node0
    ip addr add "$service_address/32" dev lo
    echo 1 >/proc/sys/net/ipv4/ip_forward
}

make_certificates() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
    openssl genrsa -out "$work/service-account.key" 2048 2>/dev/null
    openssl rsa -in "$work/service-account.key" -pubout -out "$work/service-account.pub" 2>/dev/null
    certificate server /CN=kube-apiserver \
        "subjectAltName=IP:127.0.0.1,IP:$node_address,IP:$service_address,DNS:kubernetes.default.svc"
    certificate admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
    certificate kubelet "/O=system:nodes/CN=system:node:$node_name" extendedKeyUsage=clientAuth
    kubeconfig admin
    kubeconfig kubelet
}

# certificate NAME SUBJECT EXTENSION
certificate() {
    openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$work/$1.key" -out "$work/$1.csr" 2>/dev/null
    openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
        -extfile <(echo "$3") -out "$work/$1.crt" 2>/dev/null
}

# kubeconfig NAME: for the user of that certificate
kubeconfig() {
    cat >"$work/$1.kubeconfig" <<END
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: $1}}]
clusters: [{name: test, cluster: {server: "https://$node_address", certificate-authority: $work/ca.crt}}]
users: [{name: $1, user: {client-certificate: $work/$1.crt, client-key: $work/$1.key}}]
END
}

start_api_server() {
    start apiserver kube-apiserver --etcd-servers http://127.0.0.1:2379 \
        --bind-address 0.0.0.0 --secure-port 443 --advertise-address "$node_address" \
        --tls-cert-file "$work/server.crt" --tls-private-key-file "$work/server.key" \
        --client-ca-file "$work/ca.crt" --authorization-mode Node,RBAC \
        --kubelet-client-certificate "$work/admin.crt" --kubelet-client-key "$work/admin.key" \
        --kubelet-preferred-address-types InternalIP \
        --service-account-issuer https://kubernetes.default.svc \
        --service-account-key-file "$work/service-account.pub" \
        --service-account-signing-key-file "$work/service-account.key" \
        --service-cluster-ip-range 10.0.0.0/16 --endpoint-reconciler-type none
    until_true 60 "the API server is ready" kubectl get --raw /readyz
}

start_container_runtime() {
    cat >"$work/containerd.toml" <<END
version = 3
root = "$work/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = "$CONTAINERD_ADDRESS"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "registry.test/pause:v1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$cni"]
    conf_dir = "$work/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "$(command -v runc)"
END
    mkdir -p "$work/cni"
    cat >"$work/cni/10-test.conflist" <<END
{"cniVersion": "1.0.0", "name": "test", "plugins": [{"type": "ptp", "ipam": {
  "type": "host-local", "dataDir": "$work/addresses", "ranges": [[{"subnet": "10.98.0.0/16"}]],
  "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
    start containerd containerd --config "$work/containerd.toml"
    until_true 30 "containerd answers" ctr version
}

start_kubelet() {
    cat >"$work/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$CONTAINERD_ADDRESS
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $work/ca.crt}}
authorization: {mode: Webhook}
address: $node_address
cgroupDriver: cgroupfs
# The machine's own cgroups are left alone: containers get one each, and that is all.
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
evictionHard: {}
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
resolvConf: ""
# Where names of pods are found, by whoever needs some (etcd.sh).
clusterDNS: [$node_address]
clusterDomain: cluster.local
podLogsDir: $work/pods
imageGCHighThresholdPercent: 100
# A pod that came or became ready is said at once.
syncFrequency: 5s
END
    start kubelet kubelet --config "$work/kubelet.yaml" --kubeconfig "$work/kubelet.kubeconfig" \
        --root-dir "$work/kubelet" --hostname-override "$node_name" --node-ip "$node_address"
}
