#!/usr/bin/env bash
# Builds programs of others from Go modules, for tests and the demo: etcd, kube-apiserver, kube-controller-manager, helm (the
# judge of our output), and kubectl where none is installed.
#
#   build/control-plane.sh              build what is missing; the last line of standard output is the folder
#   build/control-plane.sh --find       the same without building: status 1 and a hint when something is missing
#   build/control-plane.sh --of SET     another set of programs, in a folder of its own; before --find
#
# Sets: `control-plane`, the one above; `registry`: crane, a registry of images and the judge of what is in it;
# `bundle-judge`: a program of our own around the Operator Framework's libraries, the judge of bundles and catalogs; `node`:
# kubelet, kube-scheduler, containerd with its shim and ctr, for a node on which pods run.
#
# KUBEBUILDER_ASSETS: a folder that is used as it is when it has all programs of the control plane.
# The folder is ${XDG_CACHE_HOME:-~/.cache}/steersman/SET/VERSION; VERSION follows from the pinned modules in build/.
# Progress goes to standard error.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
heartbeat_seconds=20

set_name=control-plane
if [ "${1:-}" = --of ]; then
    set_name=${2:?--of needs the name of a set}
    shift 2
fi
case $set_name in
    control-plane)
        programs="etcd kube-apiserver kube-controller-manager helm kubectl"
        modules=$here/control-plane
        pins="$modules/go.mod $modules/helm/go.mod"
        minutes=5 ;;
    registry)
        programs=crane
        modules=$here/registry
        pins=$modules/go.mod
        minutes=1 ;;
    bundle-judge)
        programs=bundle-judge
        modules=$here/bundle-judge
        pins="$modules/go.mod $modules/main.go"
        minutes=1 ;;
    node)
        programs="kubelet kube-scheduler containerd containerd-shim-runc-v2 ctr"
        modules=$here/node/kubernetes
        pins="$modules/go.mod $here/node/containerd/go.mod"
        minutes=5 ;;
    *) echo "control plane: there is no set $set_name" >&2; exit 2 ;;
esac

say() { printf '%s: %s\n' "${set_name/-/ }" "$*" >&2; }
fail() { say "$*"; exit 1; }

# pinned MODULE GO_MOD: the version that go.mod requires
pinned() { sed -nE "s|^(require )?[[:space:]]*$1 (v[^ ]+).*|\2|p" "$2" | head -n 1; }

kubernetes_version=$(pinned k8s.io/kubernetes "$here/control-plane/go.mod")
helm_version=$(pinned helm.sh/helm/v4 "$here/control-plane/helm/go.mod")
crane_version=$(pinned github.com/google/go-containerregistry "$here/registry/go.mod")
containerd_version=$(pinned github.com/containerd/containerd/v2 "$here/node/containerd/go.mod")
case $set_name in
    registry) version=$crane_version ;;
    bundle-judge) version=$(pinned github.com/operator-framework/api "$here/bundle-judge/go.mod") ;;
    *) version=$kubernetes_version ;;
esac
# Changes whenever a pinned version does, so an old folder is never taken for a new one.
# shellcheck disable=SC2086 # a list of files
modules_sum=$(cat $pins | cksum | cut -d ' ' -f 1)
assets="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman/$set_name/$version-$modules_sum"

# missing_in FOLDER: the programs that it lacks, one per line
missing_in() {
    local program
    for program in $programs; do
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
        crane) echo github.com/google/go-containerregistry/cmd/crane ;;
        bundle-judge) echo . ;;
        containerd | containerd-shim-runc-v2 | ctr) echo "github.com/containerd/containerd/v2/cmd/$1" ;;
        *) echo "k8s.io/kubernetes/cmd/$1" ;;
    esac
}

# module_of PROGRAM: the folder of the go.mod that it is built with
module_of() {
    case $1 in
        helm) echo "$modules/helm" ;;
        containerd | containerd-shim-runc-v2 | ctr) echo "$here/node/containerd" ;;
        *) echo "$modules" ;;
    esac
}

# linker_flags_of PROGRAM: the version a program reports is set when it is linked
linker_flags_of() {
    case $1 in
        helm) echo "-s -w -X helm.sh/helm/v4/internal/version.version=$helm_version" ;;
        crane) echo "-s -w -X github.com/google/go-containerregistry/cmd/crane/cmd.Version=$crane_version" ;;
        bundle-judge) echo "-s -w" ;;
        containerd*|ctr) echo "-s -w -X github.com/containerd/containerd/v2/version.Version=$containerd_version" ;;
        *) echo "-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes_version" ;;
    esac
}

# build PROGRAM LABEL: compiles into the scratch folder, showing progress, then moves the program into place
build() {
    local program=$1 label=$2 log="$scratch/$1.log" started=$SECONDS module status=0
    module=$(module_of "$program")
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
            printf '\r\033[K%s: %s' "${set_name/-/ }" "$text" >&2
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

if [ "$set_name" = control-plane ] && [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
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
    fail "$assets lacks" $missing "- run build/control-plane.sh$([ "$set_name" = control-plane ] || echo " --of $set_name")"
fi

command -v go >/dev/null || fail "go is not installed, and" $missing "must be built with it:" \
    "install Go $(sed -n 's/^go //p' "$modules/go.mod") or newer$([ "$set_name" != control-plane ] || echo ", or set KUBEBUILDER_ASSETS to a folder that has them")"

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
[ "$total" -eq 0 ] || say "building" $missing "into $assets (about $minutes minutes on 2 cores from nothing, once)"
position=0
for program in $missing; do
    position=$((position + 1))
    build "$program" "$position of $total $program"
done
echo "$assets"
