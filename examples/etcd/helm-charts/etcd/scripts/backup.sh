#!/bin/sh
# A snapshot of the cluster in /backups, and none beyond those that are kept.
#
#   backup.sh RUN KEEP   RUN tells it from another one of the same second
set -eu

. /scripts/common.sh

folder=/backups/$SET
snapshot=$(date -u +%Y%m%dT%H%M%SZ)-$(echo "$1" | cut -c 1-8)
file=$folder/$snapshot.db
keep=$2

mkdir -p "$folder"
# What runs that were killed have left.
find "$folder" -name '*.new*' -mmin +60 -exec rm -f {} +

# A snapshot is that of one member: the first one that knows what most of them know.
each=0
while ! etcdctl --endpoints "$(client_url "$each")" --command-timeout 5s endpoint health; do
    each=$((each + 1))
    [ "$each" -lt "$MEMBERS" ] || fail "no member is healthy"
done
etcdctl --endpoints "$(client_url "$each")" --command-timeout 30m snapshot save "$file.new"
# What can't be read is none, and is no reason to part with an older one. Who reads it so writes into it, too: a copy serves.
cp "$file.new" "$file.new.copy"
hashes=$(etcdutl hashkv "$file.new.copy")
rm "$file.new.copy"
echo "$hashes" | awk -F ', *' -v snapshot="$snapshot" -v size="$(wc -c <"$file.new")" '{
    printf "{\"snapshot\": \"%s\", \"revision\": %s, \"hash\": %s, \"sizeBytes\": %s}", snapshot, $2, $1, size
}' >"$file.new.json"
mv "$file.new.json" "${file%.db}.json"
mv "$file.new" "$file"
sync

set -- "$folder"/*.db
while [ $# -gt "$keep" ]; do
    say "$1 goes"
    rm -f "$1" "${1%.db}.json"
    shift
done
cat "${file%.db}.json" >/dev/termination-log
