#!/usr/bin/env bash
# `make test-node`: the operator of this project on a real node, in namespaces of its own.
#
# It builds what is missing (the control plane, kubelet, containerd, Ansible, the program), takes MariaDB of Debian, and runc and the
# CNI plugins where the system has none (downloaded, not installed), makes the images, and runs tests/node/test.sh as the first
# process of a network, mount, process and cgroup namespace: whatever it starts ends with it, and nothing outside of them changes.
#
#   BINARY     a static program to put into the image, instead of building one
#   PROFILE    with `dev` the program is as tests have it: larger and slower, and linked within two minutes
#
# A machine that grants no namespaces, or is no Linux, or where we are not root, cannot run it: then it says so on one line
# and ends with 0, with CI=true, too. A program that is missing and could be there is a failure with CI=true.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'node: %s\n' "$*" >&2; }

# cannot REASON: this machine is not made for it
cannot() {
    say "SKIPPED: no pod ran, because $*"
    exit 0
}

# lacks REASON: something is missing that could be there
lacks() {
    [ "${CI:-}" != true ] || { say "FAILED: $* (CI=true: nothing may be missing)"; exit 1; }
    cannot "$@"
}

[ "$(uname -s)" = Linux ] || cannot "only Linux has containers"
[ "$(id -u)" = 0 ] || cannot "a node needs root: sudo -E env PATH=\"\$PATH\" make test-node"
for program in unshare ip openssl go; do
    command -v "$program" >/dev/null || lacks "$program is not installed"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/steersman-node-XXXXXX")
cgroup="steersman-${work##*-}"
child=

# Everything in the namespaces ends with the first process in them; it ends with `unshare`.
clean_up() {
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
    [ -z "$child" ] || wait "$child" 2>/dev/null || true
    local groups attempt
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        groups=$(find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" 2>/dev/null) || true
        [ -n "$groups" ] || break
        # The kernel may be at the last of the processes yet.
        xargs -r rmdir 2>/dev/null <<<"$groups" || sleep 0.2
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# What a container is made of: namespaces, mounts of files over each other, a network device, a cgroup.
probe() {
    mkdir "$work/low" "$work/up" "$work/tmp" "$work/over"
    unshare --cgroup --net --mount --pid --fork --kill-child --mount-proc sh -c "mount -t tmpfs tmpfs /run &&
        mount -t overlay -o lowerdir=$work/low,upperdir=$work/up,workdir=$work/tmp overlay $work/over &&
        ip link add node0 type veth peer name node1" || return
    local root=/sys/fs/cgroup controller
    if [ -e "$root/cgroup.controllers" ]; then
        # Of the second version, what containers are limited by is handed down from the root, or nobody has it. The root of a
        # cgroup namespace is no real one: while it has processes, it hands nothing down.
        for controller in cpu memory pids; do
            grep -qw "$controller" "$root/cgroup.controllers" ||
                { echo "$root has no controller $controller"; return 1; }
            grep -qw "$controller" "$root/cgroup.subtree_control" || echo "+$controller" >"$root/cgroup.subtree_control" ||
                { echo "$root does not hand down the controller $controller; a container needs the machine's cgroup namespace"
                  return 1; }
        done
    else
        root=$root/memory
    fi
    mkdir "$root/$cgroup" && rmdir "$root/$cgroup"
}
reason=$(probe 2>&1) || cannot "this machine grants no containers: ${reason##*$'\n'}"

assets=$(build/control-plane.sh)
node=$(build/control-plane.sh --of node)
kustomize=$(build/control-plane.sh --of kustomize)
etcd_old=$(build/control-plane.sh --of etcd-3.6)
etcd_new=$(build/control-plane.sh --of etcd-3.7)
molecule=$(build/ansible.sh --of molecule)

# download PACKAGE: by the lists of packages that the system has, or by new ones, which it does not get
download() {
    local lists=(-o "Dir::State::lists=$work/lists")
    cd "$work"
    apt-get download "$1" || { mkdir -p lists/partial && apt-get "${lists[@]}" update && apt-get "${lists[@]}" download "$1"; }
}

# from_debian PACKAGE PATH: the file of a package that the system lacks, kept in a folder beside the other programs
from_debian() {
    local folder="$node/debian"
    if [ ! -e "$folder/$2" ]; then
        command -v apt-get >/dev/null || lacks "$1 is not installed, and there is no apt-get to download it"
        say "downloading $1 of Debian"
        mkdir -p "$folder"
        download "$1" >"$work/apt.log" 2>&1 && dpkg -x "$work/$1"_*.deb "$folder" ||
            lacks "$1 is not installed and can't be downloaded: $(grep '^E:' "$work/apt.log" | tail -n 1)"
    fi
    echo "$folder/$2"
}

# What is not printed is missing, and has been said to be.
runc=$(command -v runc) || runc=$(from_debian runc usr/sbin/runc)
plugin=/usr/lib/cni/ptp
[ -x "$plugin" ] || plugin=$(from_debian containernetworking-plugins usr/lib/cni/ptp)
# A shell for an image, which needs no libraries.
busybox=$(dpkg -L busybox-static 2>/dev/null | grep -x '.*/bin/busybox') || busybox=$(from_debian busybox-static bin/busybox)
[ -n "$runc" ] && [ -n "$plugin" ] && [ -n "$busybox" ] || exit 0
cni=$(dirname "$plugin")
"$runc" --version >"$work/runc.log" 2>&1 || lacks "runc does not run: $(tail -n 1 "$work/runc.log")"
mkdir -p "$work/bin" "$work/images"
ln -s "$runc" "$work/bin/runc"

say "building the programs of the images"
if [ -z "${BINARY:-}" ] && [ "${PROFILE:-}" = dev ]; then
    cargo rustc --locked --quiet --bin steersman -- -C target-feature=+crt-static -C strip=symbols >&2
    BINARY="${CARGO_TARGET_DIR:-target}/debug/steersman"
elif [ -z "${BINARY:-}" ]; then
    make --no-print-directory build TARGET= >&2
    BINARY="${CARGO_TARGET_DIR:-target}/release/steersman"
fi
case $(uname -m) in
    x86_64) platform=linux/amd64 ;;
    aarch64) platform=linux/arm64 ;;
    *) platform=linux/$(uname -m) ;;
esac
(cd tests/node/site && CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -o "$work/site")
ln "$work/site" "$work/get"
(cd tests/node/pravega && CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -o "$work/pravega")
(cd tests/node/etcd && CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -trimpath -o "$work/dns")

# image OF NAME PROGRAM…: an image with that program under these names, of which the first starts
image() {
    local of=$1 name=$2 first=$3 files=() program
    shift 2
    for program in "$@"; do
        files+=("${program#/}=$work/$of")
    done
    pack "$name" "$first" "${files[@]}"
}

# pack NAME ENTRYPOINT PATH=FILE…: an image of these files
pack() {
    cargo run --locked --quiet --package steersman-image --example files -- \
        "$work/images/${1//[\/:]/-}.tar" "registry.test/$1" "$platform" "${@:2}"
}
image site pause:v1 /usr/bin/pause
image site nginxinc/nginx-unprivileged:1.28-alpine /usr/sbin/nginx
image site library/adminer:5 /usr/bin/php
image site library/mysql:8.4 /usr/sbin/mysqld /usr/bin/mysqladmin
image pravega pravega/zookeeper:0.2.15 /usr/bin/zookeeper
# Of the version between them, bookies hang.
image pravega pravega/bookkeeper:0.13.0 /usr/bin/bookie
image pravega pravega/bookkeeper:0.14.0 /usr/bin/bookie-that-hangs
image pravega pravega/bookkeeper:0.14.1 /usr/bin/bookie
for version in 0.13.0 0.14.0 0.14.1; do
    image pravega "pravega/pravega:$version" /usr/bin/pravega
done
# As those of etcd, without a shell, and as examples/etcd/tools/Dockerfile makes them. The shell is all of its programs.
for folder in "$etcd_old" "$etcd_new"; do
    tag=${folder##*/}
    tools=("usr/bin/etcdctl=$folder/etcdctl" "usr/bin/etcdutl=$folder/etcdutl")
    pack "etcd-development/etcd:${tag%-*}" /usr/bin/etcd "usr/bin/etcd=$folder/etcd" "${tools[@]}"
    pack "etcd-tools:${tag%-*}" /usr/bin/sh "usr/bin/sh=$busybox" "${tools[@]}"
done
# A real server; as another version it is the same one.
build/mariadb-image.sh "$node/debian" "$work/images/mariadb.tar" tests/node/mysql/docker-entrypoint.sh \
    registry.test/library/mariadb:10.11 registry.test/library/mariadb:10.11-next >"$work/apt.log" 2>&1 ||
    lacks "Debian's packages of MariaDB can't be downloaded: $(tail -n 1 "$work/apt.log")"

# Two versions of the operator: the second has another chart.
program=$(realpath "$BINARY")
for version in v1 v2; do
    mkdir -p "$work/$version"
    cp -R watches.yaml helm-charts "$work/$version/"
    [ "$version" = v1 ] || sed -i 's/^title: Visitors Site$/title: Visitors Site, second edition/' \
        "$work/$version/helm-charts/visitors/values.yaml"
    (cd "$work/$version" && "$program" build --binary "$program" -t "registry.test/visitors-operator:$version" \
        -o "$work/images/operator-$version.tar") >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
    [ "$version" = v2 ] || grep -E ' for linux/|program' "$work/build.log"
done
# The operator of a release in stages, with less time for the first of them: the test has one that is not ready in time.
cp -R examples/pravega "$work/stages"
sed -i 's/timeout: 20m/timeout: 40s/' "$work/stages/watches.yaml"
(cd "$work/stages" && "$program" build --binary "$program" -t registry.test/pravega:v1 \
    -o "$work/images/stages.tar") >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
# Its schedules move starts, so that many resources do not start at once; the test has one, and little time.
cp -R examples/etcd "$work/vaults"
sed -i 's/deadline: 6h}/deadline: 6h, jitter: 1s}/' "$work/vaults/watches.yaml"
(cd "$work/vaults" && "$program" build --binary "$program" -t registry.test/etcd:v1 \
    -o "$work/images/vaults.tar") >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
(cd examples/mysql && "$program" build --binary "$program" -t registry.test/mysql:v1 \
    -o "$work/images/database.tar") >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
# The operator of roles, upon Python and Ansible of this machine.
build/python-image.sh "$work/python"
(cd examples/visitors-ansible && "$program" build --binary "$program" --from "oci:$work/python" \
    -t registry.test/visitors-ansible:v1 -o "$work/images/roles.tar") >"$work/build.log" 2>&1 ||
    { cat "$work/build.log" >&2; exit 1; }

# A new project, which molecule tests: a kind whose role makes a ConfigMap.
make_project() {
    mkdir "$work/project"
    cd "$work/project"
    "$program" init --plugins ansible --domain example.com --group cache --version v1alpha1 --kind Memcached --generate-role
    cat >>roles/memcached/tasks/main.yml <<'END'
- name: Make a ConfigMap
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: memcached, namespace: '{{ ansible_operator_meta.namespace }}'}
      data: {by: '{{ ansible_operator_meta.name }}'}
END
    cat >>molecule/default/tasks/memcached_test.yml <<'END'
- name: Look for the ConfigMap
  ansible.builtin.assert:
    that: >-
      query('kubernetes.core.k8s', api_version='v1', kind='ConfigMap', namespace=namespace,
            resource_name='memcached')[0].data.by == 'memcached-sample'
END
    "$program" rbac generate --output config/rbac/role.yaml
    "$program" build --binary "$program" --from "oci:$work/python" -t registry.test/memcached-operator:v1 \
        -o "$work/images/project.tar"
}
# In the background, where a step that fails ends it.
make_project >"$work/build.log" 2>&1 &
wait $! || { cat "$work/build.log" >&2; exit 1; }
rm -r "$work/python"
for file in "$program" "$work/images/operator-v1.tar"; do
    [ "${PROFILE:-}" = dev ] || [ "$(stat -c %s "$file")" -le 25000000 ] ||
        { say "FAILED: ${file##*/} is larger than 25 MB"; exit 1; }
done

export assets node cni kustomize molecule etcd_old etcd_new work cgroup steersman="$program"
# In a session of its own: Ctrl-C is for this process, which ends all of it at once. The first process of the namespaces is in
# cgroups of its own, which are the roots of what is seen from within; `unshare`, which has to wait outside, is not: of the
# second version, a cgroup with a process that nobody inside can move hands nothing down.
# shellcheck disable=SC2016 # it is the inner shell that expands them
PATH="$work/bin:$PATH" setsid unshare --net --mount --pid --fork --kill-child --mount-proc bash -c '
    set -e
    for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ -w "$hierarchy/cgroup.procs" ] && mountpoint -q "$hierarchy" || continue
        mkdir "$hierarchy/$cgroup"
        # A set of processors is empty at first, and takes no process so.
        for file in cpuset.cpus cpuset.mems; do
            [ ! -e "$hierarchy/cgroup.clone_children" ] || [ ! -e "$hierarchy/$file" ] ||
                cat "$hierarchy/$file" >"$hierarchy/$cgroup/$file"
        done
        echo $$ >"$hierarchy/$cgroup/cgroup.procs"
    done
    exec unshare --cgroup bash tests/node/test.sh
' &
child=$!
wait "$child"
child=
