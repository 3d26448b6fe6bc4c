#!/usr/bin/env bash
# Builds programs of others from Go modules, for tests and the demo: etcd, kube-apiserver, kube-controller-manager, helm (the
# judge of our output), and kubectl where none is installed.
#
#   build/control-plane.sh              build what is missing; the last line of standard output is the folder
#   build/control-plane.sh --find       the same without building: status 1 and a hint when something is missing
#   build/control-plane.sh --of SET     another set of programs, in a folder of its own; before --find
#
# Sets: `control-plane`, the one above; `demo`, the same without helm, and in the same folder; `registry`: crane, a registry
# of images and the judge of what is in it; `bundle-judge`: a program of our own around the Operator Framework's libraries,
# the judge of bundles and catalogs; `kstatus-judge`: one around the library of kstatus, which says whether objects are as they
# are to be; `cel-judge`: one around cel-go, which says what expressions give; `oauth2-proxy`: what logs people in by OpenID
# Connect; `node`: kubelet, kube-scheduler, containerd with its shim and ctr, for a node on which pods run; `kustomize`: what
# molecule's scenarios deploy with; `prometheus`, the judge of alerts and dashboards, with promtool; `etcd-3.6` and `etcd-3.7`:
# etcd with etcdctl and etcdutl, which images for examples/etcd are made of.
#
# KUBEBUILDER_ASSETS: a folder that is used as it is when it has all programs of the control plane. For the demo, what a folder
# of envtest lacks is built beside it: the one of KUBEBUILDER_ASSETS, else the newest that setup-envtest has downloaded.
# The folder is ${XDG_CACHE_HOME:-~/.cache}/steersman/SET/VERSION; VERSION follows from the pinned modules in build/.
# Progress goes to standard error, by build/progress.sh.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/progress.sh"

set_name=control-plane
if [ "${1:-}" = --of ]; then
    set_name=${2:?--of needs the name of a set}
    shift 2
fi
# The folder that the programs are built into.
folder_name=$set_name
case $set_name in
    control-plane | demo)
        programs="etcd kube-apiserver kube-controller-manager kubectl"
        [ "$set_name" = demo ] || programs="$programs helm"
        folder_name=control-plane
        modules=$here/control-plane
        pins="$modules/go.mod $modules/helm/go.mod"
        minutes="4 to 9"
        [ "$set_name" = demo ] || minutes="5 to 12" ;;
    kustomize)
        programs=kustomize
        modules=$here/kustomize
        pins=$modules/go.mod
        minutes=1 ;;
    prometheus)
        programs="prometheus promtool"
        modules=$here/prometheus
        pins=$modules/go.mod
        minutes="2 to 5" ;;
    oauth2-proxy)
        programs=oauth2-proxy
        modules=$here/oauth2-proxy
        pins=$modules/go.mod
        minutes="1 to 3" ;;
    registry)
        programs=crane
        modules=$here/registry
        pins=$modules/go.mod
        minutes=1 ;;
    bundle-judge | cel-judge | kstatus-judge)
        programs=$set_name
        modules=$here/$set_name
        pins="$modules/go.mod $modules/main.go"
        minutes=1 ;;
    etcd-3.6 | etcd-3.7)
        programs="etcd etcdctl etcdutl"
        modules=$here/etcd/${set_name#etcd-}
        pins=$modules/go.mod
        minutes="1 to 2" ;;
    node)
        programs="kubelet kube-scheduler containerd containerd-shim-runc-v2 ctr"
        modules=$here/node/kubernetes
        pins="$modules/go.mod $here/node/containerd/go.mod"
        minutes=5 ;;
    *) echo "control plane: there is no set $set_name" >&2; exit 2 ;;
esac

title=${folder_name/-/ }
say() { erase_line; printf '%s: %s\n' "$title" "$*" >&2; }
fail() { say "$*"; exit 1; }

# pinned MODULE GO_MOD: the version that go.mod requires
pinned() { sed -nE "s|^(require )?[[:space:]]*$1 (v[^ ]+).*|\2|p" "$2" | head -n 1; }

kubernetes_version=$(pinned k8s.io/kubernetes "$here/control-plane/go.mod")
helm_version=$(pinned helm.sh/helm/v4 "$here/control-plane/helm/go.mod")
crane_version=$(pinned github.com/google/go-containerregistry "$here/registry/go.mod")
containerd_version=$(pinned github.com/containerd/containerd/v2 "$here/node/containerd/go.mod")
case $set_name in
    registry) version=$crane_version ;;
    etcd-*) version=$(pinned go.etcd.io/etcd/server/v3 "$modules/go.mod") ;;
    prometheus) version=$(pinned github.com/prometheus/prometheus "$modules/go.mod") ;;
    oauth2-proxy) version=$(pinned github.com/oauth2-proxy/oauth2-proxy/v7 "$modules/go.mod") ;;
    kustomize) version=$(pinned sigs.k8s.io/kustomize/kustomize/v5 "$here/kustomize/go.mod") ;;
    bundle-judge) version=$(pinned github.com/operator-framework/api "$here/bundle-judge/go.mod") ;;
    cel-judge) version=$(pinned github.com/google/cel-go "$here/cel-judge/go.mod") ;;
    kstatus-judge) version=$(pinned sigs.k8s.io/cli-utils "$here/kstatus-judge/go.mod") ;;
    *) version=$kubernetes_version ;;
esac
# Changes whenever a pinned version does, so an old folder is never taken for a new one.
# shellcheck disable=SC2086 # a list of files
modules_sum=$(cat $pins | cksum | cut -d ' ' -f 1)
cache="${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/steersman"
assets="$cache/$folder_name/$version-$modules_sum"

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
        etcdctl | etcdutl) echo "go.etcd.io/etcd/$1/v3" ;;
        helm) echo helm.sh/helm/v4/cmd/helm ;;
        crane) echo github.com/google/go-containerregistry/cmd/crane ;;
        kustomize) echo sigs.k8s.io/kustomize/kustomize/v5 ;;
        oauth2-proxy) echo github.com/oauth2-proxy/oauth2-proxy/v7 ;;
        prometheus | promtool) echo "github.com/prometheus/prometheus/cmd/$1" ;;
        *-judge) echo . ;;
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
        prometheus | promtool) echo "-s -w -X github.com/prometheus/common/version.Version=${version#v}" ;;
        *-judge | kustomize | etcdctl | etcdutl | oauth2-proxy) echo "-s -w" ;;
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
        export CGO_ENABLED=0 GOWORK=off
        # Prometheus is told where to look: none of what finds machines in clouds is needed.
        options="-mod=readonly -buildvcs=false -trimpath -tags=remove_all_sd"
        # What has to be compiled, by now: other programs have compiled some of it.
        # shellcheck disable=SC2086 # a list of options
        go list $options -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "$(package_of "$program")" \
            >"$scratch/$program.packages" 2>>"$log" && mv "$scratch/$program.packages" "$scratch/$program.stale"
        # shellcheck disable=SC2086
        exec go build -v $options -ldflags "$(linker_flags_of "$program")" -o "$scratch/$program" \
            "$(package_of "$program")" >>"$log" 2>&1
    ) 9>&- &
    go_process=$!
    follow "$go_process" how_far "$label" "$program"
    wait "$go_process" || status=$?
    go_process=
    if [ "$status" -ne 0 ]; then
        # Lines without a space are the names of compiled packages.
        grep ' ' "$log" | tail -n 20 >&2 || true
        fail "cannot build $program ($(package_of "$program") in $module)"
    fi
    mv "$scratch/$program" "$assets/$program"
    say "$label: built in $((SECONDS - started)) s"
    remember "$folder_name/$program" "$((SECONDS - started))"
}

# how_far LABEL PROGRAM SECONDS: the line that shows progress
how_far() {
    local stale="$scratch/$2.stale" done_so_far
    if [ -e "$stale" ]; then
        done_so_far="$(grep -vc ' ' "$scratch/$2.log" || true) of $(grep -c . "$stale" || true) packages"
    else
        done_so_far="$(grep -c '^go: downloading' "$scratch/$2.log" || true) modules downloaded"
    fi
    echo "$title: $1: $done_so_far, $3 s$(last_time "$folder_name/$2")"
}

clean_up() {
    [ -z "${go_process:-}" ] || kill "$go_process" 2>/dev/null || true
    [ -z "${scratch:-}" ] || rm -rf "$scratch"
}

# same_or_newer VERSION: whether an API server of this version suits a controller manager of ours, which may not be newer
same_or_newer() {
    local ours=${kubernetes_version#v} major minor
    IFS=. read -r major minor _ <<<"${1#v}"
    [ "$major" = "${ours%%.*}" ] && [ "$minor" -ge "$(IFS=. read -r _ minor _ <<<"$ours" && echo "$minor")" ] 2>/dev/null
}

# envtest_folder: the folder of envtest with the newest API server, where one is new enough. Another processor's does not run.
envtest_folder() {
    local folder version newest='' found=''
    for folder in "${KUBEBUILDER_ASSETS:-/nowhere}" "${XDG_DATA_HOME:-${HOME:-}/.local/share}"/kubebuilder-envtest/k8s/* \
        "${HOME:-}/Library/Application Support/io.kubebuilder.envtest/k8s"/* /usr/local/kubebuilder/bin; do
        [ -x "$folder/etcd" ] && version=$("$folder/kube-apiserver" --version 2>/dev/null) || continue
        version=${version#Kubernetes v}
        same_or_newer "$version" || continue
        # As numbers: 1.9 is older than 1.36.
        [ -n "$newest" ] && ! newer "$version" "$newest" || { newest=$version; found=$folder; }
        # The one that was asked for goes before any other.
        [ "$folder" != "${KUBEBUILDER_ASSETS:-}" ] || break
    done
    [ -z "$found" ] || (cd "$found" && pwd)
}

# newer VERSION OTHER
newer() {
    local -a one other
    local part
    IFS=.-+ read -ra one <<<"$1"
    IFS=.-+ read -ra other <<<"$2"
    for part in 0 1 2; do
        [ "${one[part]:-0}" = "${other[part]:-0}" ] || { [ "${one[part]:-0}" -gt "${other[part]:-0}" ] 2>/dev/null; return; }
    done
    return 1
}

# demo_folder FOLDER: one of links, to the programs of that folder and to ours where it has none
demo_folder() {
    local folder program from
    folder="$cache/demo/$version-$(echo "$1 $modules_sum" | cksum | cut -d ' ' -f 1)"
    mkdir -p "$folder"
    for program in $programs helm; do
        from=$1/$program
        [ -x "$from" ] || from=$assets/$program
        rm -f "$folder/$program"
        [ ! -x "$from" ] || ln -s "$from" "$folder/$program"
    done
    echo "$folder"
}

if [ "$folder_name" = control-plane ] && [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    lacking=$(missing_in "$KUBEBUILDER_ASSETS")
    if [ -z "$lacking" ]; then
        (cd "$KUBEBUILDER_ASSETS" && pwd)
        exit 0
    fi
    [ "$set_name" = demo ] || say "KUBEBUILDER_ASSETS ($KUBEBUILDER_ASSETS) lacks" $lacking "- using our own build"
fi

missing=$(missing_in "$assets")
if [ -z "$missing" ]; then
    echo "$assets"
    exit 0
fi

# Nothing but the demo runs on another version than the pinned one.
envtest=
[ "$set_name" != demo ] || envtest=$(envtest_folder)
if [ -n "$envtest" ]; then
    # What neither has.
    missing=$(for program in $missing; do grep -x "$program" <<<"$(missing_in "$envtest")" || true; done)
    [ -n "$missing" ] || { demo_folder "$envtest"; exit 0; }
    say "using the programs of $envtest"
fi
if [ "${1:-}" = --find ]; then
    fail "$assets lacks" $missing "- run build/control-plane.sh$([ "$set_name" = control-plane ] || echo " --of $set_name")"
fi

command -v go >/dev/null || fail "go is not installed, and" $missing "must be built with it:" \
    "install Go $(sed -n 's/^go //p' "$modules/go.mod") or newer$([ "$folder_name" != control-plane ] || echo ", or set KUBEBUILDER_ASSETS to a folder that has them")"

# Go's compiler and linker collect less garbage where there is room for it: a fifth less of the processor.
memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || true)
[ "${memory:-0}" -lt 8 ] || export GOGC="${GOGC:-400}"

alone_in "$assets"
scratch=$(mktemp -d "$assets/.building-XXXXXX")

# Another process may have built some of them while we waited.
missing=$(for program in $missing; do [ -x "$assets/$program" ] || echo "$program"; done)
total=$(printf '%s' "$missing" | grep -c . || true)
[ "$total" -eq 0 ] || say "building" $missing "into $assets (about $minutes minutes on 2 cores from nothing, once)"
position=0
for program in $missing; do
    position=$((position + 1))
    build "$program" "$position of $total $program"
done
if [ -n "$envtest" ]; then demo_folder "$envtest"; else echo "$assets"; fi
