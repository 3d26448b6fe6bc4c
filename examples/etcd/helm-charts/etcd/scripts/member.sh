#!/bin/sh
# What has to be said to the cluster when its size changes.
#
#   member.sh add ORDINAL       it becomes a learner: the cluster counts on it when it has all data
#   member.sh promote ORDINAL   it becomes a member like the others, once it has all data
#   member.sh remove ORDINAL    it is none any more
#
# Each may be said again.
set -eu

. /scripts/common.sh

ordinal=$2 id=''
name=$SET-$ordinal
url=$(peer_url "$ordinal")

ask() { etcdctl --endpoints "$(endpoints "$ordinal")" --dial-timeout 2s --command-timeout 10s "$@"; }

# look_up: its ID, and whether it is a learner; nothing where it is no member
look_up() {
    members=$(ask member list) || return
    entry=$(echo "$members" | entry_of "$url")
    id=${entry%% *} learner=${entry##* }
}

# insist COMMAND…: a cluster that has just changed does not change again at once
insist() {
    tries=0
    until look_up && "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 20 ] || fail "the cluster takes no change"
        sleep 1
    done
}

add() { [ -n "$id" ] || ask member add "$name" --learner --peer-urls "$url"; }
remove() { [ -z "$id" ] || ask member remove "$id"; }

case $1 in
    add | remove) insist "$1" ;;
    promote)
        # Until the pod runs, and has caught up.
        until look_up && [ "$learner" = false ]; do
            [ -z "$id" ] || ask member promote "$id" || true
            sleep 1
        done
        ;;
esac
printf '{"member": "%s", "done": "%s"}' "$name" "$1" >/dev/termination-log
