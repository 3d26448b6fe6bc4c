# examples/mysql on the node: a real server, of MariaDB, whose rows are read after each thing that is done with it. To be sourced by
# test.sh behind etcd.sh, whose stand-in for the cluster's DNS finds the server.

of_mysql() {
    namespace=mysql-system operator=mysql-controller-manager application=mysql tenant=shop
    kustomization="$here/../../examples/mysql/config/default"
}

database() {
    prepare_database
    create_mysql
    back_up_mysql
    fail_to_restore
    restore_mysql
    upgrade_mysql
    bind_role
    find_passwords
    delete_runs
    print_memory
}

# sql STATEMENTS: as the user, with the password that the pod has
sql() {
    # shellcheck disable=SC2016 # it is the inner shell that expands them
    in_tenant exec orders-0 -- sh -c 'exec mariadb --host=127.0.0.1 --user=orders \
        --password="$(cat /run/secrets/mysql/password)" --batch --skip-column-names --execute="$1" orders' sh "$1"
}

# has_rows ROWS: of the table, as in "1 one 2 two"
has_rows() {
    local found
    found=$(sql 'SELECT n, name FROM items ORDER BY n' | xargs)
    [ "$found" = "$1" ] || fail "the rows are: $found; and not: $1"
}

# orders_says CONDITION REASON: whether the condition is true for this reason
orders_says() {
    [ "$(in_tenant get mysql/orders -o jsonpath="{.status.conditions[?(@.type==\"$1\")]['status','reason']}")" = "True $2" ]
}

# orders_is VERSION: whether the pod is ready, of this version and open to clients, and the resource says that it is Ready
orders_is() {
    [ "$(in_tenant get pod orders-0 -o \
        jsonpath='{.status.conditions[?(@.type=="Ready")].status} {.spec.containers[0].image} {.spec.containers[0].ports[0].name}')" = \
        "True registry.test/library/mariadb:$1 mysql" ] && in_tenant wait --for=condition=Ready mysql/orders --timeout=1s
}

# dumps: how many there are on the volume of backups
dumps() { find "$work/disks/orders-backups/orders" -name '*.sql.gz' | wc -l; }

# procedure ARGUMENTS…: makes a run, and waits for its end
procedure() {
    "$steersman" procedure run "$1" mysql/orders --namespace "$tenant" --wait --timeout 2m "${@:2}" \
        >"$logs/procedure.log" 2>&1 || fail "$1: $(cat "$logs/procedure.log")"
}

# A namespace, and volumes, as a cluster's provisioner would make them.
prepare_database() {
    kubectl create namespace "$tenant" >/dev/null
    kubectl label namespace "$tenant" pod-security.kubernetes.io/enforce=restricted >/dev/null
    local claim
    for claim in data-orders-0 orders-backups; do
        # Nobody gives a folder of the node to the group of a pod.
        install -d -m 777 "$work/disks/$claim"
        cat <<END
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: $claim, labels: {of: $application}}
spec:
  storageClassName: node
  claimRef: {namespace: $tenant, name: $claim}
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $work/disks/$claim, type: Directory}
END
    done | kubectl apply -f - >/dev/null
}

# Without the Secret nothing is begun. What is written into it is no easy text, and part of it is found wherever it is shown.
create_mysql() {
    local began=$SECONDS
    in_tenant apply -f - >/dev/null <<END
apiVersion: mysql.example.com/v1alpha1
kind: MySQL
metadata: {name: orders}
spec:
  database: orders
  user: orders
  passwordSecret: of-orders
  version: "10.11"
  image: {repository: registry.test/library/mariadb}
  storage: {class: node, size: 100Mi}
  backup: {class: node, size: 100Mi, keep: 2}
END
    until_true 30 "the Secret is waited for" orders_says Reconciling DependencyNotReady
    secret_word=$(openssl rand -hex 12)
    printf '%s' "\"it's\\$secret_word #1" >"$work/password"
    printf '%s' "#\"\\'$secret_word; 2" >"$work/root-password"
    in_tenant create secret generic of-orders --from-file=password="$work/password" \
        --from-file=rootPassword="$work/root-password" >/dev/null
    until_true 120 "the server runs" orders_is 10.11
    sql "CREATE TABLE items (n INT PRIMARY KEY, name TEXT); INSERT INTO items VALUES (1, 'one'), (2, 'two')"
    has_rows "1 one 2 two"
    say "a server of MariaDB has waited for its Secret, and takes rows ($((SECONDS - began)) s)"
}

back_up_mysql() {
    local began=$SECONDS
    procedure backup --name by-hand
    backup=$(in_tenant get mysqlbackup/by-hand -o jsonpath='{.status.result.backup}')
    [ -s "$work/disks/orders-backups/orders/$backup.sql.gz" ] || fail "the backup by hand has left nothing"
    sql "DELETE FROM items WHERE n = 1; INSERT INTO items VALUES (3, 'three'); CREATE TABLE later (n INT)"
    has_rows "2 two 3 three"
    say "a backup came by hand, and other rows after it ($((SECONDS - began)) s)"
}

# A dump that the server does not take to its end is as if there had been none.
fail_to_restore() {
    local began=$SECONDS folder="$work/disks/orders-backups/orders"
    gunzip -c "$folder/$backup.sql.gz" | sed 's/^INSERT INTO .*/THIS IS NO SQL;/' | gzip >"$folder/broken.sql.gz"
    ! "$steersman" procedure run restore mysql/orders --namespace "$tenant" --name broken --set-string backup=broken --confirm --wait \
        --timeout 2m >"$logs/procedure.log" 2>&1 || fail "a dump that is none was restored: $(cat "$logs/procedure.log")"
    [[ $(in_tenant get mysqlrestore/broken -o jsonpath='{.status.message}') == *"step load"* ]] ||
        fail "what has failed is another thing: $(cat "$logs/procedure.log")"
    orders_is 10.11 >/dev/null || fail "the server is not open to clients"
    has_rows "2 two 3 three"
    sql 'SELECT * FROM later'
    rm "$folder/broken.sql.gz"
    say "a restore that has failed half-way has left what there was ($((SECONDS - began)) s)"
}

# A restore begins when it is confirmed. Meanwhile the server is there for that alone: its pod has been another one.
restore_mysql() {
    local began=$SECONDS ports before
    in_tenant apply -f - >/dev/null <<END
apiVersion: mysql.example.com/v1alpha1
kind: MySQLRestore
metadata: {name: back}
spec: {resource: orders, backup: $backup}
END
    in_tenant wait --for=jsonpath='{.status.phase}'=Pending mysqlrestore/back --timeout=30s >/dev/null
    has_rows "2 two 3 three"
    in_tenant annotate mysqlrestore/back steersman.dev/confirm=true >/dev/null
    in_tenant wait --for=condition=Ready mysqlrestore/back --timeout=150s >/dev/null ||
        fail "restore: $(in_tenant get mysqlrestore/back -o jsonpath='{.status}')"
    until_true 60 "the server is open to clients" orders_is 10.11
    has_rows "1 one 2 two"
    [ "$(sql 'SHOW TABLES')" = items ] || fail "what was made after the backup is there: $(sql 'SHOW TABLES')"
    ports=$(in_tenant get controllerrevisions -o jsonpath='{.items[*].data.spec.template.spec.containers[0].ports[0].name}' |
        xargs -n 1 | sort | xargs)
    [ "$ports" = "maintenance mysql" ] || fail "the server was not closed meanwhile: it had $ports"
    before=$(in_tenant get mysqlrestore/back -o jsonpath='{.status.result.before}')
    [ -s "$work/disks/orders-backups/orders/$before.sql.gz" ] || fail "what there was before is not backed up"
    say "a restore has waited for its confirmation; the rows are those of the backup ($((SECONDS - began)) s)"
}

# Another version comes after a backup. The oldest one goes then.
upgrade_mysql() {
    local began=$SECONDS ended started
    in_tenant patch mysql/orders --type=merge --patch '{"spec": {"version": "10.11-next"}}' >/dev/null
    until_true 120 "the server is of the other version" orders_is 10.11-next
    has_rows "1 one 2 two"
    [ "$(in_tenant get mysqlbackups -o jsonpath='{.items[*].status.phase}')" = "Succeeded Succeeded" ] ||
        fail "there was no backup before the upgrade: $(in_tenant get mysqlbackups)"
    ended=$(in_tenant get mysql/orders -o jsonpath='{.status.procedures.backup.lastSuccess}')
    started=$(in_tenant get pod orders-0 -o jsonpath='{.metadata.creationTimestamp}')
    [[ ! $started < $ended ]] || fail "the upgrade has begun at $started, and its backup came to its end at $ended"
    [ "$(dumps)" = 2 ] && [ ! -e "$work/disks/orders-backups/orders/$backup.sql.gz" ] ||
        fail "not the last two backups are kept: $(ls "$work/disks/orders-backups/orders")"
    say "the other version came after a backup, and the last two backups are kept ($((SECONDS - began)) s)"
}

# The role of the example's README.
bind_role() {
    sed -n '/^.*yaml may-back-up.yaml$/,/^...$/p' "$here/../../examples/mysql/README.md" | sed '1d;$d' |
        in_tenant apply -f - >/dev/null
    in_tenant create rolebinding may-back-up --role=may-back-up --user=anna >/dev/null
    in_tenant auth can-i create mysqlbackups --as=anna >/dev/null || fail "who may back up may not"
    ! in_tenant auth can-i create mysqlrestores --as=anna >/dev/null || fail "who may back up may restore"
    ! in_tenant auth can-i patch mysqls --as=anna >/dev/null || fail "who may back up may change the server"
}

# What somebody can read without the Secret.
find_passwords() {
    local each found
    {
        in_tenant get mysqls,mysqlbackups,mysqlrestores,jobs,pods,statefulsets,controllerrevisions,configmaps,events -o yaml
        in_tenant get secrets --field-selector type=helm.sh/release.v1 -o jsonpath='{range .items[*]}{.data.release}{"\n"}{end}' |
            while read -r each; do base64 -d <<<"$each" | base64 -d | gunzip; done
        kubectl logs --namespace "$namespace" "deployment/$operator"
        for each in $(in_tenant get pods -o name); do in_tenant logs "$each"; done
    } >"$work/readable"
    grep -q 'by-hand' "$work/readable" && grep -q '"manifest"' "$work/readable" && grep -q 'ready for connections' "$work/readable" ||
        fail "not all was read that can be"
    found=$(grep -n "$secret_word" "$work/readable" || true)
    [ -z "$found" ] || fail "a password can be read: ${found:0:200}"
    say "no password is in a status, a record, an object or a log"
}

# Runs that somebody has made are there until somebody deletes them, and their Jobs with them.
delete_runs() {
    in_tenant delete mysqlbackups,mysqlrestores --all --timeout=60s >/dev/null
    until_true 60 "Jobs of runs go" no_jobs
}

no_jobs() { [ -z "$(in_tenant get jobs -o name)" ]; }

# What the release leaves to whoever has made it, and to those who want the data again.
leave_database() {
    in_tenant get persistentvolumeclaims data-orders-0 orders-backups >/dev/null || fail "data or backups went with the server"
    in_tenant delete secret/of-orders >/dev/null
}
