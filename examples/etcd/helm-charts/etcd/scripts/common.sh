# shellcheck shell=sh
# Where the members of the cluster are. The other scripts read it, and find these in the environment:
#
#   SET       the StatefulSet, by which the members are called
#   DOMAIN    where their names are
#   CLIENT    http or https, for clients
#   PEER      http or https, between members
#   MEMBERS   how many of them are asked, the first ones

say() { echo "$*" >&2; }

fail() {
    say "$*"
    exit 1
}

# host ORDINAL
host() { echo "$SET-$1.$DOMAIN"; }

# peer_url ORDINAL: where the other members find it, by which the cluster knows it
peer_url() { echo "$PEER://$(host "$1"):2380"; }

# client_url ORDINAL
client_url() { echo "$CLIENT://$(host "$1"):2379"; }

# endpoints [ORDINAL]: where all of them answer clients, without that one
endpoints() {
    list='' each=0
    while [ "$each" -lt "$MEMBERS" ]; do
        [ "$each" = "${1:-}" ] || list="$list,$(client_url "$each")"
        each=$((each + 1))
    done
    echo "${list#,}"
}

# entry_of URL: ID, client URL and whether it is a learner, of the member of that peer URL. What is read is `etcdctl member list`.
# A member that has never started has no client URL, and `-` stands for it.
entry_of() {
    awk -F ', *' -v url="$1" '$4 == url { print $1, ($5 == "" ? "-" : $5), $6 }'
}
