#!/usr/bin/env bash
# Makes a Python environment with ansible-core, ansible-runner and two collections, for tests.
#
#   build/ansible.sh                   make it if it is missing; the last line of standard output is the folder
#   build/ansible.sh --find            the same without making it: status 1 and a hint when it is missing
#   build/ansible.sh --of molecule     the same environment with molecule; before --find
#
# PYTHON: the interpreter, 3.11 or newer; python3 otherwise.
# The folder is ${XDG_CACHE_HOME:-~/.cache}/steersman/ansible/VERSION; VERSION follows from the pins of the set in build/ansible
# and from the interpreter. Programs are in its bin/, collections are in its collections/, which ANSIBLE_COLLECTIONS_PATH can name.
# Progress goes to standard error, by build/progress.sh.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/progress.sh"

requirements=$here/ansible/requirements.txt
lists=("$requirements")
set_name=ansible
if [ "${1:-}" = --of ]; then
    [ "${2:-}" = molecule ] || { echo "ansible: there is no set ${2:-}" >&2; exit 2; }
    lists+=("$here/ansible/molecule.txt")
    set_name=molecule
    shift 2
fi
collections=$here/ansible/collections.txt

say() { erase_line; printf 'ansible: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

python=$(command -v "${PYTHON:-python3}") || fail "${PYTHON:-python3} is not installed: install Python 3.11 or newer, or name it by PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is $("$python" --version), and 3.11 or newer is needed: name another by PYTHON"

# Changes whenever a pinned version or the interpreter does, so an old folder is never taken for a new one.
pins_sum=$({ cat "${lists[@]}" "$collections"; "$python" --version; echo "$python"; } | cksum | cut -d ' ' -f 1)
version=$(sed -n 's/^ansible-core==//p' "$requirements")
cache="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman/ansible"
folder="$cache/$version-$pins_sum"

# The folder gets its name when it is whole.
if [ -d "$folder" ]; then
    echo "$folder"
    exit 0
fi
[ "${1:-}" != --find ] || fail "$folder is not there - run build/ansible.sh$([ "$set_name" = ansible ] || echo " --of $set_name")"

clean_up() {
    [ -z "${step_process:-}" ] || kill "$step_process" 2>/dev/null || true
    [ -z "${scratch:-}" ] || rm -rf "$scratch"
}

# how_far LABEL SECONDS: the line that shows progress
how_far() { echo "ansible: $1, $2 s$(last_time "ansible/${1// /-}")"; }

# step LABEL COMMAND…: runs it and shows that
step() {
    local label=$1 log="$scratch/log" started=$SECONDS status=0
    shift
    "$@" >"$log" 2>&1 9>&- &
    step_process=$!
    follow "$step_process" how_far "$label"
    wait "$step_process" || status=$?
    step_process=
    if [ "$status" -ne 0 ]; then
        tail -n 20 "$log" >&2
        fail "$label failed"
    fi
    remember "ansible/${label// /-}" "$((SECONDS - started))"
}

make_environment() {
    "$python" -m venv "$scratch/whole" || { echo "the module venv is missing: on Debian, install python3-venv"; return 1; }
}
install_packages() { "$scratch/whole/bin/pip" install --no-input --require-virtualenv "${lists[@]/#/--requirement=}"; }
download_collections() {
    "$scratch/whole/bin/pip" download --no-input --no-deps --only-binary :all: -r "$collections" -d "$scratch" &&
        "$scratch/whole/bin/python3" - "$scratch"/ansible-*.whl "$scratch/whole/collections" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wanted = tuple(f"ansible_collections/{name}/" for name in ("kubernetes/core", "cloud/common"))
    names = [name for name in wheel.namelist() if name.startswith(wanted)]
    wheel.extractall(sys.argv[2], names)
PYTHON
}
# The first lines of the programs name the folder that they were made in.
move_programs() { grep -rlIF "$scratch/whole" "$scratch/whole/bin" | xargs sed -i "s|$scratch/whole|$folder|g"; }

alone_in "$cache"
# Another process may have made it while we waited.
if [ ! -d "$folder" ]; then
    scratch=$(mktemp -d "$cache/.building-XXXXXX")
    say "making $folder (half a minute on 2 cores, once)"
    step "environment" make_environment
    step "packages" install_packages
    step "collections" download_collections
    step "programs" move_programs
    mv "$scratch/whole" "$folder"
fi
echo "$folder"
