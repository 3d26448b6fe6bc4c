#!/bin/sh
# A cluster out of a snapshot in /backups, while no member runs: the first member has it, and the others join that.
#
#   restore.sh check     the snapshot is there, and whole
#   restore.sh load      the first member gets another folder of data, in /data, which is nobody's until INCARNATION names it
#   restore.sh promote   those that have joined count, one after the other, when they have all data
#   restore.sh verify    all members have what the snapshot had
#
#   FROM           the cluster that it is a snapshot of
#   SNAPSHOT       its name
#   BUMP           by so much revisions go up, so that clients who have seen later ones do not mistake them
#   INCARNATION    how the data is going to be called
set -eu

. /scripts/common.sh

case $FROM/$SNAPSHOT in
    */*/* | .* | */.*) fail "$FROM/$SNAPSHOT is no name of a snapshot" ;;
esac
file=/backups/$FROM/$SNAPSHOT.db

# At its end it has the sum of what is before.
check() {
    [ -e "$file" ] || fail "$FROM has no snapshot $SNAPSHOT: there are $(cd "/backups/$FROM" 2>/dev/null && echo *.db)"
    size=$(($(wc -c <"$file") - 32))
    sum=$(head -c "$size" "$file" | sha256sum)
    [ "${sum%% *}" = "$(tail -c 32 "$file" | od -A n -t x1 | tr -d ' \n')" ] || fail "$FROM/$SNAPSHOT is damaged"
}

# of_snapshot FIELD: what its backup has written down
of_snapshot() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "${file%.db}.json" 2>/dev/null; }

load() {
    folder=/data/$INCARNATION
    [ ! -d "$folder" ] || return 0
    rm -rf "$folder.part"
    set -- "$file" --data-dir "$folder.part/etcd" --name "$SET-0" --initial-cluster "$SET-0=$(peer_url 0)" \
        --initial-advertise-peer-urls "$(peer_url 0)" --initial-cluster-token "$DOMAIN-$INCARNATION"
    [ "$BUMP" = 0 ] || set -- "$@" --bump-revision "$BUMP" --mark-compacted
    etcdutl snapshot restore "$@"
    sync
    mv "$folder.part" "$folder"
}

ask() { etcdctl --endpoints "$(endpoints '')" --dial-timeout 2s --command-timeout 5s "$@"; }

promote() {
    until members=$(ask member list) &&
        [ "$(echo "$members" | awk -F ', *' '$5 != "" && $6 == "false"' | wc -l)" -ge "$MEMBERS" ]; do
        for id in $(echo "$members" | awk -F ', *' '$5 != "" && $6 == "true" { print $1 }'); do
            ask member promote "$id" || true
        done
        sleep 1
    done
}

# With other revisions there is another hash, and one that was not made here has none: then all members have the same.
verify() {
    hash=$(of_snapshot hash) revision=$(of_snapshot revision)
    [ "$BUMP" = 0 ] || hash='' revision=''
    each=0
    while [ "$each" -lt "$MEMBERS" ]; do
        found=$(etcdctl --endpoints "$(client_url "$each")" --command-timeout 30s endpoint hashkv --rev "${revision:-0}" |
            awk -F ', *' '{ print $2 }')
        hash=${hash:-$found}
        [ "$found" = "$hash" ] || fail "$SET-$each has $found, and not $hash"
        each=$((each + 1))
    done
    printf '{"from": "%s", "snapshot": "%s", "hash": %s, "members": %s}' "$FROM" "$SNAPSHOT" "$hash" "$MEMBERS" \
        >/dev/termination-log
}

case $1 in
    check) check ;;
    load) load ;;
    promote) promote ;;
    verify) verify ;;
esac
