#!/usr/bin/env bash
# Makes an image with Python and Ansible, as a folder in OCI's layout: a base for `steersman build --from`, made of the
# interpreter, the libraries and the shell of this machine and of the environment of build/ansible.sh. Nothing is downloaded.
#
#   build/python-image.sh FOLDER
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out=$1
environment=$("$here/ansible.sh")
python=$(readlink -f "$environment/bin/python3")
version=$("$python" -c 'import sysconfig; print(sysconfig.get_python_version())')
library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

scratch=$(mktemp -d "${TMPDIR:-/tmp}/steersman-python-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
mkdir -p "$root"/{bin,etc,tmp,usr/local/bin,usr/local/lib,opt/venv,usr/share/ansible/collections}

# copy FROM TO [FILES OF TAR TO LEAVE OUT…]: with times, so that compiled files stay those of their sources
copy() {
    local from=$1 to=$2
    shift 2
    mkdir -p "$to"
    tar -C "$from" "${@/#/--exclude=}" -cf - . | tar -C "$to" --no-same-owner -xf -
}
cp -L "$python" "$root/usr/local/bin/python$version"
copy "$library" "$root/usr/local/lib/python$version" \
    ./site-packages ./dist-packages './config-*' ./test ./idlelib ./tkinter ./lib2to3 ./ensurepip './lib-dynload/_tkinter*' \
    './lib-dynload/_test*'
site=lib/python$version/site-packages
copy "$environment/$site" "$root/opt/venv/$site" './pip' './pip-*' ./setuptools './setuptools-*' ./ansible_test
copy "$environment/collections" "$root/usr/share/ansible/collections"
copy "$environment/bin" "$root/opt/venv/bin" './python*' './pip*' './activate*'
grep -rlIF "$environment" "$root/opt/venv/bin" | xargs sed -i "s|$environment|/opt/venv|g"
ln -s "/usr/local/bin/python$version" "$root/opt/venv/bin/python3"
ln -s python3 "$root/opt/venv/bin/python"
printf 'home = /usr/local/bin\nversion = %s\n' "$version" >"$root/opt/venv/pyvenv.cfg"

# What Ansible runs a module by.
for program in sh chmod cat mkdir rm sleep; do
    cp -L "$(type -P "$program")" "$root/bin/$program"
done

# The libraries of all that, where the loader looks for them without being told.
{
    find "$root/bin" "$root/usr/local/bin" -type f
    find "$root" -name '*.so*' -type f
} | xargs ldd 2>/dev/null | grep -oE '/[^ :]+\.so[^ :]*' | sort -u >"$scratch/libraries"
libc=$(grep -E '/libc\.so\.6$' "$scratch/libraries")
while read -r file; do
    [ "${file#"$root"}" = "$file" ] || continue
    case $file in
        */ld-linux*) to=$file ;;
        *) to=$(dirname "$libc")/${file##*/} ;;
    esac
    mkdir -p "$root/$(dirname "$to")"
    cp -L "$file" "$root/$to"
done <"$scratch/libraries"

# Ansible insists on a locale of UTF-8, which not every libc has in itself.
for file in /usr/lib/locale/C.utf8 /usr/lib/locale/C.UTF-8; do
    [ ! -d "$file" ] || copy "$file" "$root/usr/lib/locale/${file##*/}"
done

echo 'ansible:x:65532:65532:ansible:/opt/ansible:/sbin/nologin' >"$root/etc/passwd"
chmod 1777 "$root/tmp"
chmod -R go+rX "$root"

tar -C "$root" --owner=0 --group=0 --sort=name -cf "$scratch/layer.tar" .
content=$(sha256sum "$scratch/layer.tar" | cut -d ' ' -f 1)
gzip -1 -n "$scratch/layer.tar"

# blob TYPE FILE: puts it into the layout, and prints how others name it
mkdir -p "$out/blobs/sha256"
blob() {
    local digest
    digest=$(sha256sum "$2" | cut -d ' ' -f 1)
    printf '{"mediaType": "application/vnd.oci.image.%s", "digest": "sha256:%s", "size": %d}' \
        "$1" "$digest" "$(stat -c %s "$2")"
    mv "$2" "$out/blobs/sha256/$digest"
}
case $(uname -m) in
    x86_64) processor=amd64 ;;
    aarch64) processor=arm64 ;;
    *) processor=$(uname -m) ;;
esac
layer=$(blob layer.v1.tar+gzip "$scratch/layer.tar.gz")
cat >"$scratch/config" <<END
{"os": "linux", "architecture": "$processor", "rootfs": {"type": "layers", "diff_ids": ["sha256:$content"]},
 "config": {"User": "65532:65532", "Env": ["PATH=/opt/venv/bin:/usr/local/bin:/bin", "LANG=C.UTF-8"]}}
END
config=$(blob config.v1+json "$scratch/config")
cat >"$scratch/manifest" <<END
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": $config, "layers": [$layer]}
END
manifest=$(blob manifest.v1+json "$scratch/manifest")
echo '{"imageLayoutVersion": "1.0.0"}' >"$out/oci-layout"
echo "{\"schemaVersion\": 2, \"manifests\": [$manifest]}" >"$out/index.json"
