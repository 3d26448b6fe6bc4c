#!/usr/bin/env bash
# Builds the judge of OLM bundles and catalogs: a small program around the libraries of the Operator Framework.
#
#   build/bundle-judge.sh           build it if it is missing; the last line of standard output is the program
#   build/bundle-judge.sh --find    the same without building: status 1 and a hint when it is missing
#
# The program is ${XDG_CACHE_HOME:-~/.cache}/steersman/bundle-judge/SUM/bundle-judge; SUM follows from its source and the
# pinned modules in build/bundle-judge/. Progress goes to standard error.
set -euo pipefail

module="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/bundle-judge"

say() { printf 'bundle judge: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

sum=$(cat "$module/go.mod" "$module/main.go" | cksum | cut -d ' ' -f 1)
folder="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman/bundle-judge/$sum"
program="$folder/bundle-judge"

if [ -x "$program" ]; then
    echo "$program"
    exit 0
fi
[ "${1:-}" != --find ] || fail "$program is missing - run build/bundle-judge.sh"
command -v go >/dev/null || fail "go is not installed, and the judge must be built with it"

mkdir -p "$folder"
scratch=
clean_up() { [ -z "$scratch" ] || rm -rf "$scratch"; }
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
exec 9>"$folder/.lock"
if command -v flock >/dev/null && ! flock -n 9; then
    say "waiting for another build in $folder"
    flock 9
fi
if [ ! -x "$program" ]; then
    started=$SECONDS
    say "building into $folder (about a minute on 2 cores from nothing, once)"
    scratch=$(mktemp -d "$folder/.building-XXXXXX")
    (
        cd "$module"
        CGO_ENABLED=0 GOWORK=off exec go build -mod=readonly -buildvcs=false -trimpath -ldflags "-s -w" \
            -o "$scratch/bundle-judge" .
    ) >&2 9>&-
    mv "$scratch/bundle-judge" "$program"
    say "built in $((SECONDS - started)) s"
fi
echo "$program"
