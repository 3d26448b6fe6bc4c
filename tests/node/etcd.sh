# examples/etcd on the node: a cluster of real etcd, whose data is read after each thing that is done with it. To be sourced by
# test.sh, with these set besides:
#
#   etcd_old, etcd_new   folders with etcd, etcdctl and etcdutl of two versions, which the images are made of
#   work/dns             the program that stands for the cluster's DNS

of_etcd() {
    namespace=etcd-system operator=etcd-controller-manager application=etcd tenant=vault
    kustomization="$here/../../examples/etcd/config/default"
}

vaults() {
    prepare_node
    create_etcd
    resize_etcd
    lose_members
    back_up_etcd
    gate_upgrade
    restore_etcd
    destroy_etcd
    print_memory
}

# version_of FOLDER: as in 3.6.16
version_of() {
    local name=${1##*/v}
    echo "${name%-*}"
}

# in_tenant ARGUMENTS…: kubectl in the namespace of the clusters
in_tenant() { kubectl --namespace "$tenant" "$@"; }

# set_spec CLUSTER SPEC: merges it into the resource's spec
set_spec() { in_tenant patch "etcdcluster/$1" --type=merge --patch "{\"spec\": $2}" >/dev/null; }

# etcdctl_at CLUSTER ORDINAL ARGUMENTS…: asks that member alone
etcdctl_at() {
    local address options=()
    address=$(in_tenant get pod "$1-$2" -o jsonpath='{.status.podIP}')
    # Without a host it would be the control plane's own.
    [ -n "$address" ] || return
    [ "$1" = west ] || options=(--cacert "$work/ca.crt" --cert "$work/east.crt" --key "$work/east.key" --insecure-skip-tls-verify)
    "$etcd_new/etcdctl" --command-timeout 5s --endpoints "$address:2379" "${options[@]}" "${@:3}" 2>>"$logs/etcdctl.log"
}

# member_id CLUSTER ORDINAL: by which the cluster knows it
member_id() { etcdctl_at "$1" 0 member list | awk -F ', ' -v name="$1-$2" '$3 == name { print $1 }'; }

# has CLUSTER SIZE KEY VALUE: whether each member has that
has() {
    local each
    for ((each = 0; each < $2; each++)); do
        [ "$(etcdctl_at "$1" "$each" get --consistency=s --print-value-only "$3")" = "$4" ] ||
            fail "$1-$each does not have $3: $(etcdctl_at "$1" "$each" get "$3")"
    done
}

# runs_etcd CLUSTER SIZE VERSION: whether so many members count, all ready and of this version, and nobody else is there
runs_etcd() {
    local pods members
    pods=$(in_tenant get pods -l "app.kubernetes.io/name=etcd,app.kubernetes.io/instance=$1" -o \
        jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status} {.spec.containers[0].image}{"\n"}{end}')
    [ "$(sed 's/ .*:v/ /' <<<"$pods" | sort | uniq -c | xargs)" = "$2 True $3" ] || return
    members=$(etcdctl_at "$1" 0 member list)
    [ "$(wc -l <<<"$members")" = "$2" ] && [ "$(grep -c ', started, .*, false$' <<<"$members")" = "$2" ]
}

# is_of CLUSTER SIZE VERSION: whether it runs so, and its resource says that it is Ready
is_of() { runs_etcd "$@" && in_tenant wait --for=condition=Ready "etcdcluster/$1" --timeout=1s; }

# A namespace, and volumes, as a cluster's provisioner would make them.
prepare_node() {
    kubectl create namespace "$tenant" >/dev/null
    kubectl label namespace "$tenant" pod-security.kubernetes.io/enforce=restricted >/dev/null
    local each
    for each in $(seq 16); do
        install -d -o 10001 -g 10001 -m 700 "$work/volumes/$each"
        cat <<END
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: volume-$each, labels: {of: $application}}
spec:
  storageClassName: node
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $work/volumes/$each, type: Directory}
END
    done | kubectl apply -f - >/dev/null
}

# make_cluster NAME SIZE VERSION SPEC: with what all clusters of the test have
make_cluster() {
    kubectl apply --namespace "$tenant" -f - >/dev/null <<END
apiVersion: etcd.example.com/v1alpha1
kind: EtcdCluster
metadata: {name: $1}
spec:
  size: $2
  version: $3
  image: {etcd: registry.test/etcd-development/etcd, tools: registry.test/etcd-tools}
  config: {unsafe-no-fsync: true, log-level: warn}
  storage: {class: node, size: 100Mi}
$4
END
}

create_etcd() {
    local began=$SECONDS
    make_cluster west 1 "$(version_of "$etcd_old")" '  backup: {class: node, size: 100Mi, keep: 2}'
    until_true 120 "a member runs" is_of west 1 "$(version_of "$etcd_old")"
    etcdctl_at west 0 put first created >/dev/null
    has west 1 first created
    say "etcd $(version_of "$etcd_old") runs with one member after $((SECONDS - began)) s"
}

# resize_to SIZE
resize_to() {
    set_spec west "{\"size\": $1}"
    until_true 240 "there are $1 members" is_of west "$1" "$(version_of "$etcd_old")"
    has west "$1" first created
}

# one_by_one FROM TO: whether each member's pod was made when the one before was ready, and was expected by the cluster
one_by_one() {
    local each made ready
    for ((each = $1; each < $2; each++)); do
        made=$(in_tenant get pod "west-$each" -o jsonpath='{.metadata.creationTimestamp}')
        ready=$(in_tenant get pod "west-$((each - 1))" -o jsonpath='{.status.conditions[?(@.type=="Ready")].lastTransitionTime}')
        [[ ! $made < $ready ]] || fail "west-$each was made at $made, and west-$((each - 1)) was ready at $ready"
        ! in_tenant logs "west-$each" -c join | grep -q ' added ' || fail "nobody had added west-$each to the cluster"
    done
}

resize_etcd() {
    local began=$SECONDS
    resize_to 3
    one_by_one 1 3
    resize_to 5
    one_by_one 3 5
    resize_to 3
    until_true 60 "claims of members that are gone go" no_claims data-west-3 data-west-4
    in_tenant get pvc data-west-2 >/dev/null
    # The last one looks once more whether its member is gone.
    until_true 60 "each run succeeds" all_resized
    say "1, 3, 5 and 3 members again, one by one, in $((SECONDS - began)) s; each had all data"
}

all_resized() {
    [ "$(in_tenant get etcdresizes -o jsonpath='{.items[*].status.phase}' | tr ' ' '\n' | sort -u)" = Succeeded ]
}

no_claims() { ! in_tenant get pvc "$@" -o name 2>/dev/null | grep -q .; }

lose_members() {
    local began=$SECONDS before version
    version=$(version_of "$etcd_old")
    # The first one comes within a minute; it is looked for below.
    set_spec west '{"backup": {"schedule": "* * * * *"}}'
    before=$(member_id west 1)
    in_tenant delete pod west-1 --now >/dev/null
    etcdctl_at west 0 put second "while one was away" >/dev/null
    until_true 90 "a member that was killed comes back" is_of west 3 "$version"
    [ "$(member_id west 1)" = "$before" ] || fail "a member that was killed is another one now"
    has west 3 second "while one was away"

    before=$(member_id west 2)
    in_tenant delete pvc data-west-2 --wait=false >/dev/null
    in_tenant delete pod west-2 --now >/dev/null
    until_true 120 "a member that has lost its data is replaced" is_of west 3 "$version"
    [ "$(member_id west 2)" != "$before" ] || fail "a member without data passes for the one that had some"
    has west 3 first created
    has west 3 second "while one was away"
    say "a member was killed and came back; one that had lost its data was replaced ($((SECONDS - began)) s)"
}

# of_backup NAME FIELD: of its result
of_backup() { in_tenant get etcdbackup "$1" -o jsonpath="{.status.result.$2}"; }

# snapshots: how many there are on the volume of backups
snapshots() { find "$(backups)/west" -name '*.db' | wc -l; }

backups() { echo "$work/volumes/$(in_tenant get pvc west-backups -o jsonpath='{.spec.volumeName}' | sed 's/volume-//')"; }

# back_up NAME: by hand; what it has made is in `snapshot`
back_up() {
    "$steersman" procedure run backup etcdcluster/west --namespace "$tenant" --name "$1" --wait --timeout 2m \
        >"$logs/procedure.log" 2>&1 || fail "backup $1: $(cat "$logs/procedure.log")"
    snapshot=$(of_backup "$1" snapshot)
    [ -f "$(backups)/west/$snapshot.db" ] || fail "backup $1 has left no snapshot"
}

back_up_etcd() {
    local began=$SECONDS snapshot oldest said
    back_up by-hand-1
    said=$("$steersman" procedure logs etcdbackup/by-hand-1 --namespace "$tenant" 2>&1) || fail "no logs of a backup: $said"
    [[ $said == *"is healthy"* ]] || fail "the logs of a backup say nothing of the member that it is of: $said"
    oldest=$snapshot
    back_up by-hand-2
    back_up by-hand-3
    [ ! -e "$(backups)/west/$oldest.db" ] || fail "more backups are there than are to be kept"
    until_true 120 "a backup comes by its schedule" was_scheduled
    set_spec west '{"backup": {"schedule": ""}}'
    [ "$(snapshots)" = 2 ] || fail "there are $(snapshots) snapshots, and 2 are kept"
    "$steersman" procedure run defragment etcdcluster/west --namespace "$tenant" --wait --timeout 2m \
        >"$logs/procedure.log" 2>&1 || fail "defragment: $(cat "$logs/procedure.log")"
    has west 3 second "while one was away"
    say "backups came by hand and by schedule, and the last two are kept ($((SECONDS - began)) s)"
}

was_scheduled() {
    in_tenant get etcdbackups -o jsonpath='{range .items[?(@.status.phase=="Succeeded")]}{.metadata.annotations}{"\n"}{end}' |
        grep -q '"steersman.dev/trigger":"schedule"'
}

# Another version waits for a backup, and does not begin where none can be made. When the run that has failed is gone there is
# another one.
gate_upgrade() {
    local began=$SECONDS place before
    place=$(backups)
    before=$(last_backup snapshot)
    chmod 0 "$place"
    set_spec west "{\"version\": \"$(version_of "$etcd_new")\"}"
    until_true 120 "the backup before the upgrade fails" says_of west Stalled ProcedureFailed
    runs_etcd west 3 "$(version_of "$etcd_old")" || fail "an upgrade has begun without a backup"
    chmod 700 "$place"
    in_tenant get etcdbackups -o jsonpath='{range .items[?(@.status.phase=="Failed")]}{.metadata.name}{"\n"}{end}' |
        xargs kubectl delete --namespace "$tenant" etcdbackup >/dev/null
    until_true 180 "all members are of the new version" is_of west 3 "$(version_of "$etcd_new")"
    [ "$(last_backup snapshot)" != "$before" ] || fail "the upgrade has come without a backup"
    has west 3 first created
    has west 3 second "while one was away"
    say "etcd $(version_of "$etcd_new") came when a backup had been made, and not before ($((SECONDS - began)) s)"
}

# says_of CLUSTER CONDITION REASON: whether the condition is true for this reason
says_of() {
    [ "$(in_tenant get "etcdcluster/$1" -o jsonpath="{.status.conditions[?(@.type==\"$2\")]['status','reason']}")" = "True $3" ]
}

# last_backup FIELD: of the result of the last backup of west
last_backup() { in_tenant get etcdcluster/west -o jsonpath="{.status.procedures.backup.result.$1}"; }

# What was written after the backup is not in the cluster that is restored from it. That one speaks TLS.
restore_etcd() {
    local began=$SECONDS hash
    etcdctl_at west 0 put third later >/dev/null
    certificate east /CN=east "subjectAltName=DNS:*.east.$tenant.svc,DNS:east-client.$tenant.svc"
    in_tenant create secret generic east --from-file=tls.crt="$work/east.crt" --from-file=tls.key="$work/east.key" \
        --from-file=ca.crt="$work/ca.crt" >/dev/null
    make_cluster east 3 "$(version_of "$etcd_new")" '  tls: {client: east, peer: east}
  backup: {claim: west-backups}'
    until_true 120 "another cluster runs" is_of east 3 "$(version_of "$etcd_new")"
    etcdctl_at east 0 put own gone >/dev/null
    "$steersman" procedure run restore etcdcluster/east --namespace "$tenant" --name from-west --confirm --wait --timeout 4m \
        --set-string "snapshot=$(last_backup snapshot)" --set-string from=west \
        >"$logs/procedure.log" 2>&1 || fail "restore: $(cat "$logs/procedure.log")"
    until_true 60 "the restored cluster is whole" is_of east 3 "$(version_of "$etcd_new")"
    has east 3 first created
    has east 3 second "while one was away"
    has east 3 third ""
    has east 3 own ""
    hash=$(hash_of east)
    [ -n "$hash" ] && [ "$hash" = "$(hash_of west)" ] && [ "$hash" = "$(last_backup hash)" ] ||
        fail "the backup has $(last_backup hash), west $(hash_of west), and east $hash"
    has west 3 third later
    say "another cluster was restored from the backup: its hash is $hash, as in the first one ($((SECONDS - began)) s)"
}

# hash_of CLUSTER: of all keys as they were at the time of the backup
hash_of() {
    etcdctl_at "$1" 1 endpoint hashkv --rev "$(last_backup revision)" | awk -F ', ' '{ print $2 }'
}

destroy_etcd() {
    set_spec east '{"storage": {"whenDeleted": "Delete"}}'
    in_tenant wait --for=jsonpath='{.spec.persistentVolumeClaimRetentionPolicy.whenDeleted}'=Delete statefulset/east \
        --timeout=60s >/dev/null
    in_tenant delete etcdcluster/east --timeout=90s >/dev/null
    until_true 60 "its volumes go, as it says" no_claims data-east-0 data-east-1 data-east-2
    in_tenant delete secret/east >/dev/null
    in_tenant get pvc west-backups >/dev/null
    has west 3 third later
    say "the restored cluster is gone with its volumes; the first one and the backups are there"
}

# What the namespace does not take with it.
leave_volumes() {
    kubectl delete persistentvolumes -l "of=$application" --timeout=60s >/dev/null
}
