#!/bin/sh
# Gives back what is free inside of the files, member after member: a member answers nobody meanwhile.
set -eu

. /scripts/common.sh

each=0
while [ "$each" -lt "$MEMBERS" ]; do
    etcdctl --endpoints "$(endpoints '')" --command-timeout 30s endpoint health || fail "not all members are healthy"
    etcdctl --endpoints "$(client_url "$each")" --command-timeout 10m defrag
    each=$((each + 1))
done
printf '{"members": %s}' "$MEMBERS" >/dev/termination-log
