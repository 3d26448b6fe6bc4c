#!/bin/sh
# What a member does before its etcd starts: it writes the configuration, for one of these cases.
#
#   it has data of its own           it goes on with that
#   it has none, or what it has is
#   of a member that was removed     it joins the cluster: as the member that was added for it, else as one that it adds itself,
#                                    in place of the one whose data is lost
#   there is no cluster yet          it begins one, together with the other members of the first size
#
# Where the cluster has been before and nobody answers, a member without data waits: an empty cluster in place of the one that is
# lost would look like a healthy one.
#
#   BOOTSTRAP     so many members begin the cluster; 0 once it has been there
#   INCARNATION   which restore the data has to be of; empty: what is there
set -eu

. /scripts/common.sh

name=$POD_NAME
ordinal=${name##*-}
url=$(peer_url "$ordinal")

# The folder of this incarnation. The one before is there until its successor starts, so that a restore comes whole or not at all.
choose_folder() {
    folder=/data/${INCARNATION:-first}
    [ -z "$INCARNATION" ] && [ ! -d "$folder" ] || return 0
    for other in /data/*/etcd; do
        case $other in
            /data/\*/etcd | *.part/etcd) ;;
            *) folder=${other%/etcd} ;;
        esac
    done
}

forget_others() {
    for other in /data/*/etcd; do
        [ "$other" = "$folder/etcd" ] || [ ! -d "$other" ] || rm -rf "${other%/etcd}"
    done
}

has_data() { [ -d "$folder/etcd/member" ]; }

begins() { [ "$ordinal" -lt "$BOOTSTRAP" ] && [ -z "$INCARNATION" ]; }

# ask COMMAND…: etcdctl at the other members. What one of them answers is known to most of them.
ask() { etcdctl --endpoints "$(endpoints "$ordinal")" --dial-timeout 2s --command-timeout 3s "$@"; }

# start STATE INITIAL-CLUSTER
start() {
    mkdir -p "$folder"
    cat /scripts/etcd.yaml - >/run/etcd/etcd.yaml <<END
name: $name
data-dir: $folder/etcd
initial-advertise-peer-urls: $url
advertise-client-urls: $(client_url "$ordinal")
initial-cluster-token: $DOMAIN
initial-cluster-state: $1
initial-cluster: $2
END
    forget_others
    exit 0
}

go_on() {
    say "$name goes on with what it has"
    start existing "$name=$url"
}

begin() {
    say "$name begins the cluster, one of $BOOTSTRAP"
    list='' each=0
    while [ "$each" -lt "$BOOTSTRAP" ]; do
        list="$list,$SET-$each=$(peer_url "$each")"
        each=$((each + 1))
    done
    start new "${list#,}"
}

# join ID: as this member of the cluster, which has not started yet
join() {
    say "$name joins the cluster as $1"
    mkdir -p "$folder"
    echo "$1" >"$folder/id"
    start existing "$(ask member list | awk -F ', *' '{
        host = $4
        sub(/^[a-z]*:\/\//, "", host)
        sub(/[.:].*/, "", host)
        printf "%s%s=%s", (NR > 1 ? "," : ""), host, $4
    }')"
}

# is_own ID CLIENT-URL: whether the data is that of this member of the cluster
is_own() {
    if [ -e "$folder/id" ]; then
        [ "$(cat "$folder/id")" = "$1" ]
    elif [ "$2" = - ]; then
        # It has data and has never started: somebody was added in its place, unless the cluster has just begun.
        begins
    else
        echo "$1" >"$folder/id"
    fi
}

# decide: returns where another try is needed
decide() {
    if ! members=$(ask member list 2>/tmp/answer); then
        ! has_data || go_on
        ! begins || begin
        say "$name has no data, and most of the others do not answer. If theirs is lost, too, a restore brings it back:" \
            "$(tail -n 1 /tmp/answer)"
        return
    fi
    # shellcheck disable=SC2046 # words
    set -- $(echo "$members" | entry_of "$url")
    if has_data; then
        if [ $# -gt 0 ] && is_own "$1" "$2"; then go_on; fi
        say "$name is no member of the cluster any more: what it has goes"
        rm -rf "$folder"
    fi
    if [ $# -gt 0 ] && [ "$2" = - ]; then
        if begins; then begin; else join "$1"; fi
    fi
    if [ $# -gt 0 ]; then
        say "$name has lost its data: another member takes its place"
        ask member remove "$1" || return 0
    fi
    # As the second one that counts it would have to agree to everything before it can: so it counts when a procedure says so.
    others=$(echo "$members" | awk -F ', *' -v url="$url" '$4 != url && $6 == "false"' | wc -l)
    set --
    [ "$others" -gt 1 ] || set -- --learner
    ask member add "$name" --peer-urls "$url" "$@" || return 0
}

choose_folder
while :; do
    decide
    sleep 1
done
