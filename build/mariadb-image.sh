#!/usr/bin/env bash
# Makes an image with a server of MariaDB and its clients, as docker and containerd import it: the programs and libraries of Debian's
# packages, which are downloaded and not installed, a shell of busybox, and a script that starts the server as official images do.
# What is made of packages is kept.
#
#   build/mariadb-image.sh CACHE OUT ENTRYPOINT NAME…
set -euo pipefail

out=$2 entrypoint=$3
kept="$1/mariadb-$(cksum <"${BASH_SOURCE[0]}" | cut -d ' ' -f 1).tar"
shift 3

scratch=$(mktemp -d "${TMPDIR:-/tmp}/steersman-mariadb-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# What is asked of apt-get: with the lists of packages that the system has, or with new ones, which it does not get.
lists=()
ask() { "$1" "${lists[@]}" "${@:2}"; }

download() {
    # Libraries, and those of libraries. Scripts in Perl are not for this image.
    local packages
    packages=$(ask apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances mariadb-server-core mariadb-client-core libc6 libgcc-s1 |
        grep -E '^z?lib' | grep -vE 'perl|^libelogind|:' | sort -u)
    [ -n "$packages" ] || return
    mkdir -p "$scratch/packages"
    # shellcheck disable=SC2086 # names
    (cd "$scratch/packages" && ask apt-get download mariadb-server-core mariadb-client-core mariadb-client busybox-static $packages)
}

make_layer() {
    download || {
        lists=(-o "Dir::State::lists=$scratch/lists")
        mkdir -p "$scratch/lists/partial"
        ask apt-get update && download
    }
    local all=$scratch/all root=$scratch/root package folder
    mkdir -p "$all"/usr/{bin,sbin,lib,lib64} "$root"/usr/{bin,sbin,lib,lib64} "$root"/{etc,tmp,run,dev,proc,sys} \
        "$root"/var/{run/mysqld,lib/mysql}
    for folder in bin sbin lib lib64; do
        ln -s "usr/$folder" "$all/$folder"
        ln -s "usr/$folder" "$root/$folder"
    done
    for package in "$scratch"/packages/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -C "$all" --keep-directory-symlink --no-same-owner -xf -
    done
    cp "$all"/usr/sbin/mariadbd "$root/usr/sbin/"
    cp "$all"/usr/bin/{mariadb,mariadb-dump,mariadb-admin,busybox} "$root/usr/bin/"
    for folder in "$all"/usr/share/*/english/errmsg.sys; do
        folder=${folder%/english/errmsg.sys}
        mkdir -p "$root${folder#"$all"}/english"
        cp "$folder"/*.sql "$root${folder#"$all"}/"
        cp "$folder/english/errmsg.sys" "$root${folder#"$all"}/english/"
    done
    cp -P "$all"/usr/lib64/ld-linux* "$root/usr/lib64/" 2>/dev/null || true
    for folder in "$all"/usr/lib "$all"/usr/lib/*-linux-gnu; do
        mkdir -p "$root${folder#"$all"}"
        find "$folder" -maxdepth 1 -name '*.so*' -exec cp -P -t "$root${folder#"$all"}" {} +
    done
    local program
    for program in sh cat cut date dirname grep gzip head ls mkdir mv rm sed sleep sync tail touch wc; do
        ln -s busybox "$root/usr/bin/$program"
    done
    printf 'root:x:0:0::/:/bin/sh\nmysql:x:999:999::/var/lib/mysql:/bin/sh\n' >"$root/etc/passwd"
    printf 'root:x:0:\nmysql:x:999:\n' >"$root/etc/group"
    chmod 1777 "$root"/{tmp,var/run/mysqld,var/lib/mysql}
    chmod -R go+rX "$root"
    tar -C "$root" --owner=0 --group=0 --sort=name -cf "$scratch/debian.tar" .
    mkdir -p "$(dirname "$kept")"
    rm -f "${kept%-*}"-*.tar
    mv "$scratch/debian.tar" "$kept"
}

[ -e "$kept" ] || make_layer

image=$scratch/image
mkdir -p "$image" "$scratch/own/usr/bin"
ln "$kept" "$image/debian.tar" 2>/dev/null || cp "$kept" "$image/debian.tar"
install -m 755 "$entrypoint" "$scratch/own/usr/bin/docker-entrypoint.sh"
tar -C "$scratch/own" --owner=0 --group=0 --sort=name -cf "$image/own.tar" usr

digest() { sha256sum "$1" | cut -d ' ' -f 1; }
case $(uname -m) in
    x86_64) processor=amd64 ;;
    aarch64) processor=arm64 ;;
    *) processor=$(uname -m) ;;
esac
cat >"$image/config.json" <<END
{"os": "linux", "architecture": "$processor",
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(digest "$image/debian.tar")", "sha256:$(digest "$image/own.tar")"]},
 "config": {"Env": ["PATH=/usr/sbin:/usr/bin"], "Entrypoint": ["docker-entrypoint.sh"], "Cmd": ["mysqld"]}}
END
names=$(printf ', "%s"' "$@")
echo "[{\"Config\": \"config.json\", \"RepoTags\": [${names#, }], \"Layers\": [\"debian.tar\", \"own.tar\"]}]" >"$image/manifest.json"
tar -C "$image" -cf "$out" manifest.json config.json debian.tar own.tar
