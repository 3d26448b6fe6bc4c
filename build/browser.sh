#!/usr/bin/env bash
# Gets Chromium, its driver and axe-core, for tests of pages. Nothing is installed: Debian's packages are downloaded and
# unpacked, but for a `chromium` and a `chromedriver` of one version in PATH, which are used.
#
#   build/browser.sh           get them if they are missing; the last line of standard output is the folder
#   build/browser.sh --find    the same without getting them: status 1 and a hint when they are missing
#
# The folder has the scripts `chromium` and `chromedriver`, which need nothing else of it to be named, and `axe.min.js`. It is
# ${XDG_CACHE_HOME:-~/.cache}/steersman/browser/SUM; SUM follows from what is here, from the system's release and from what is in
# PATH. The version of Chromium is the one that Debian had on the day: to have a newer one, remove the folder.
#
# Where they can't be had, it says so on one line and ends with 0, and prints no folder; with CI=true that is a failure.
# Progress goes to standard error, by build/progress.sh.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/progress.sh"

axe=4.14.1
axe_sum=FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==

say() { erase_line; printf 'browser: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# lacks REASON: it could be there, and is not
lacks() {
    [ "${CI:-}" != true ] || fail "FAILED: $* (CI=true: nothing may be missing)"
    say "SKIPPED: there is no browser, because $*"
    exit 0
}

[ "$(uname -s)" = Linux ] || lacks "only Linux has Debian's packages"

# version_of PROGRAM: such as 156.0.8078.108
version_of() { "$1" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+){3}' | head -n 1; }

# What is in PATH: both of one version, or nothing.
installed=
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
    installed=$(version_of chromium) || true
    [ -n "$installed" ] && [ "$installed" = "$(version_of chromedriver)" ] || installed=
fi

# The libraries are for the system's own libc, and so for its release.
sum=$({
    cat "$here/browser.sh" "$here"/browser/*
    uname -m
    cat /etc/os-release 2>/dev/null || true
    [ -z "$installed" ] || { echo "$installed" && command -v chromium chromedriver; }
} | cksum | cut -d ' ' -f 1)
cache="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman/browser"
folder="$cache/$sum"

# The folder gets its name when it is whole.
if [ -d "$folder" ]; then
    echo "$folder"
    exit 0
fi
[ "${1:-}" != --find ] || fail "$folder is not there - run build/browser.sh"

for program in apt-get dpkg-deb npm openssl timeout; do
    command -v "$program" >/dev/null || lacks "$program is not installed"
done

clean_up() {
    [ -z "${step_process:-}" ] || kill "$step_process" 2>/dev/null || true
    [ -z "${scratch:-}" ] || rm -rf "$scratch"
}

# how_far LABEL SECONDS: the line that shows progress
how_far() {
    local size
    size=$(du -sm "$scratch" 2>/dev/null | cut -f 1) || true
    echo "browser: $1, ${size:-0} MB, $2 s$(last_time "browser/${1// /-}")"
}

# step LABEL COMMAND…: runs it and shows that
step() {
    local label=$1 log="$scratch/log" started=$SECONDS status=0
    shift
    "$@" >"$log" 2>&1 9>&- &
    step_process=$!
    follow "$step_process" how_far "$label"
    wait "$step_process" || status=$?
    step_process=
    [ "$status" -eq 0 ] || lacks "$label failed: $(grep -E '^(E:|npm error|cannot)' "$log" | tail -n 1 | grep . || tail -n 1 "$log")"
    remember "browser/${label// /-}" "$((SECONDS - started))"
}

# What is asked of apt-get: with the lists of packages that the system has, or with new ones, which it does not get.
lists=()
ask() { "$1" "${lists[@]}" "${@:2}"; }

only_depends=(--no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances)
# names_of_libraries PACKAGE…: libraries, and those of libraries; without a window, those of GTK are not needed. The system has
# its libc, to which the loader belongs.
names_of_libraries() {
    local direct
    direct=$(ask apt-cache depends "${only_depends[@]}" "$@" | sed -nE 's/^ +\|?Depends: (z?lib.*)/\1/p' | grep -v '^libgtk')
    # shellcheck disable=SC2086 # names
    ask apt-cache depends --recurse "${only_depends[@]}" $direct | grep -E '^z?lib' |
        grep -vE ':|perl|^libc6|^lib(elogind|debian-installer|newt|slang|textwrap|readline)' | sort -u
}

download() {
    local packages=(fonts-dejavu-core) libraries
    if [ -z "$installed" ]; then
        libraries=$(names_of_libraries chromium chromium-driver)
        [ -n "$libraries" ] || return
        # shellcheck disable=SC2206 # names
        packages+=(chromium chromium-common chromium-driver $libraries)
    fi
    mkdir -p "$scratch/packages"
    (cd "$scratch/packages" && ask apt-get download "${packages[@]}")
}

get_packages() {
    download || {
        lists=(-o "Dir::State::lists=$scratch/lists")
        mkdir -p "$scratch/lists/partial"
        ask apt-get update && download
    }
}

unpack() {
    local package all=$scratch/all whole=$scratch/whole
    mkdir -p "$all" "$whole/libraries" "$whole/programs"
    for package in "$scratch"/packages/*.deb; do
        dpkg-deb -x "$package" "$all"
    done
    mv "$all/usr/share/fonts/truetype/dejavu" "$whole/fonts"
    cp "$here"/browser/* "$whole/"
    if [ -n "$installed" ]; then
        ln -s "$(command -v chromium)" "$(command -v chromedriver)" "$whole/programs/"
        return
    fi
    # Layers that check drivers of graphics: 24 MB.
    rm -f "$all"/usr/lib/chromium/libVk* "$all"/usr/lib/chromium/*.TOC
    mv "$all"/usr/lib/chromium/* "$all/usr/bin/chromedriver" "$whole/programs/"
    find "$all" -name '*.so*' -not -type d -exec mv -t "$whole/libraries" {} +
}

get_axe() {
    cd "$scratch"
    npm pack --silent "axe-core@$axe"
    [ "$(openssl dgst -sha512 -binary "axe-core-$axe.tgz" | base64 -w 0)" = "$axe_sum" ] ||
        { echo "cannot believe axe-core-$axe.tgz: it is not the one of build/browser.sh"; return 1; }
    tar -xzf "axe-core-$axe.tgz" --no-same-owner --strip-components=1 -C "$scratch/whole" package/axe.min.js
}

# A picture of a page, by what is in the folder.
check() {
    local whole=$scratch/whole home=$scratch/home
    mkdir -p "$home"
    HOME=$home XDG_CACHE_HOME=$home XDG_CONFIG_HOME=$home timeout 120 "$whole/chromium" --user-data-dir="$home/profile" \
        --screenshot="$home/picture.png" 'data:text/html,<h1>Steersman</h1>'
    [ -s "$home/picture.png" ] || { echo "cannot make a picture of a page"; return 1; }
    [ "$(version_of "$whole/chromium")" = "$(version_of "$whole/chromedriver")" ] ||
        { echo "cannot drive this Chromium: its driver is of another version"; return 1; }
}

alone_in "$cache"
# Another process may have made it while we waited.
if [ ! -d "$folder" ]; then
    scratch=$(mktemp -d "$cache/.building-XXXXXX")
    say "making $folder (half a minute, once)"
    step "packages of Debian" get_packages
    downloaded=$(du -sm "$scratch/packages" | cut -f 1)
    step "unpacking" unpack
    step "axe-core" get_axe
    step "a first page" check
    mv "$scratch/whole" "$folder"
    say "Chromium $(version_of "$folder/chromium") and axe-core $axe are there ($downloaded MB of packages, $SECONDS s)"
fi
echo "$folder"
