#!/usr/bin/env bash
# Builds a Kubernetes control plane for tests and the demo from Go modules: etcd, kube-apiserver,
# kube-controller-manager, helm (the judge of our output), and kubectl where none is installed.
#
#   build/control-plane.sh           build what is missing; the last line of standard output is the folder
#   build/control-plane.sh --find    the same without building: status 1 and a hint when something is missing
#
# KUBEBUILDER_ASSETS: a folder that is used as it is when it has all of these programs.
# The folder is ${XDG_CACHE_HOME:-~/.cache}/steersman/control-plane/VERSION; VERSION follows from the pinned
# modules in build/control-plane/. Progress goes to standard error.
set -euo pipefail

modules="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/control-plane"
heartbeat_seconds=20

say() { printf 'control plane: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# pinned MODULE GO_MOD: the version that go.mod requires
pinned() { sed -nE "s|^(require )?[[:space:]]*$1 (v[^ ]+).*|\2|p" "$2" | head -n 1; }

kubernetes_version=$(pinned k8s.io/kubernetes "$modules/go.mod")
helm_version=$(pinned helm.sh/helm/v4 "$modules/helm/go.mod")
# Changes whenever a pinned version does, so an old folder is never taken for a new one.
modules_sum=$(cat "$modules/go.mod" "$modules/helm/go.mod" | cksum | cut -d ' ' -f 1)
assets="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman/control-plane/$kubernetes_version-$modules_sum"

# missing_in FOLDER: the programs that it lacks, one per line
missing_in() {
    local program
    for program in etcd kube-apiserver kube-controller-manager helm kubectl; do
        [ -x "$1/$program" ] && continue
        [ "$program" = kubectl ] && command -v kubectl >/dev/null && continue
        echo "$program"
    done
}

# package_of PROGRAM
package_of() {
    case $1 in
        etcd) echo go.etcd.io/etcd/server/v3 ;;
        helm) echo helm.sh/helm/v4/cmd/helm ;;
        *) echo "k8s.io/kubernetes/cmd/$1" ;;
    esac
}

# linker_flags_of PROGRAM: the version a program reports is set when it is linked
linker_flags_of() {
    case $1 in
        helm) echo "-s -w -X helm.sh/helm/v4/internal/version.version=$helm_version" ;;
        *) echo "-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes_version" ;;
    esac
}

# build PROGRAM LABEL: compiles into the scratch folder, showing progress, then moves the program into place
build() {
    local program=$1 label=$2 log="$scratch/$1.log" started=$SECONDS module=$modules status=0
    [ "$program" = helm ] && module="$modules/helm"
    : >"$log"
    (
        cd "$module"
        CGO_ENABLED=0 GOWORK=off exec go build -v -mod=readonly -buildvcs=false -trimpath \
            -ldflags "$(linker_flags_of "$program")" -o "$scratch/$program" "$(package_of "$program")"
    ) >"$log" 2>&1 9>&- &
    go_process=$!
    show_progress "$label" "$log" "$started"
    wait "$go_process" || status=$?
    go_process=
    if [ "$status" -ne 0 ]; then
        # Lines without a space are the names of compiled packages.
        grep ' ' "$log" | tail -n 20 >&2 || true
        fail "cannot build $program ($(package_of "$program") in $module)"
    fi
    mv "$scratch/$program" "$assets/$program"
    say "$label: built in $((SECONDS - started)) s"
}

# show_progress LABEL LOG STARTED: until the compiler ends; one line that changes on a terminal, else a line now and then
show_progress() {
    local next_line=0 elapsed text
    while kill -0 "$go_process" 2>/dev/null; do
        elapsed=$((SECONDS - $3))
        text="$1: $(grep -vc ' ' "$2" || true) packages compiled, $elapsed s"
        if [ -t 2 ]; then
            printf '\r\033[Kcontrol plane: %s' "$text" >&2
        elif [ "$elapsed" -ge "$next_line" ]; then
            say "$text"
            next_line=$((elapsed + heartbeat_seconds))
        fi
        sleep 0.5
    done
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

clean_up() {
    [ -z "${go_process:-}" ] || kill "$go_process" 2>/dev/null || true
    [ -z "${scratch:-}" ] || rm -rf "$scratch"
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    lacking=$(missing_in "$KUBEBUILDER_ASSETS")
    if [ -z "$lacking" ]; then
        (cd "$KUBEBUILDER_ASSETS" && pwd)
        exit 0
    fi
    say "KUBEBUILDER_ASSETS ($KUBEBUILDER_ASSETS) lacks" $lacking "- using our own build"
fi

missing=$(missing_in "$assets")
if [ -z "$missing" ]; then
    echo "$assets"
    exit 0
fi
if [ "${1:-}" = --find ]; then
    fail "$assets lacks" $missing "- run build/control-plane.sh"
fi

command -v go >/dev/null || fail "go is not installed, and" $missing "must be built with it:" \
    "install Go $(sed -n 's/^go //p' "$modules/go.mod") or newer, or set KUBEBUILDER_ASSETS to a folder that has them"

mkdir -p "$assets"
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
exec 9>"$assets/.lock"
if command -v flock >/dev/null && ! flock -n 9; then
    say "waiting for another build in $assets"
    flock 9
fi
scratch=$(mktemp -d "$assets/.building-XXXXXX")

# Another process may have built some of them while we waited.
missing=$(missing_in "$assets")
total=$(printf '%s' "$missing" | grep -c . || true)
[ "$total" -eq 0 ] || say "building" $missing "into $assets (about 5 minutes on 2 cores from nothing, once)"
position=0
for program in $missing; do
    position=$((position + 1))
    build "$program" "$position of $total $program"
done
echo "$assets"
