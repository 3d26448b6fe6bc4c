#!/usr/bin/env bash
# Builds Helm, Helm's engine in a loop, and both of ours, and compares them. `make bench-engine` calls it.
#
#   benches/run.sh [FLAGS OF compare]     for example -only charts -filter postgresql
#
# STEERSMAN_CORPUS: the corpus, unpacked or as an archive; ../shared/corpus/corpus.tar.gz beside the checkout if not given.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

say() { printf 'bench: %s\n' "$*" >&2; }

corpus="${STEERSMAN_CORPUS:-$root/../shared/corpus/corpus.tar.gz}"
target="${CARGO_TARGET_DIR:-$root/target}"
programs="$target/bench"
mkdir -p "$programs"

if [ -f "$corpus" ]; then
    unpacked="$programs/corpus-$(cksum <"$corpus" | tr ' ' -)"
    if [ ! -d "$unpacked" ]; then
        say "unpacking the corpus"
        scratch=$(mktemp -d "$programs/unpacking.XXXXXX")
        tar -xzf "$corpus" -C "$scratch"
        mv "$scratch" "$unpacked"
    fi
    corpus=$unpacked
fi
[ -f "$corpus/index.jsonl" ] || { say "$corpus is no corpus; set STEERSMAN_CORPUS"; exit 1; }

say "building Helm"
helm_version=$(cd benches && go list -m -f '{{.Version}}' helm.sh/helm/v4)
(
    cd benches
    go build -trimpath -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$helm_version" \
        -o "$programs/helm" helm.sh/helm/v4/cmd/helm
    go build -trimpath -ldflags "-s -w" -o "$programs/helm-render" ./helm
    go build -trimpath -ldflags "-s -w" -o "$programs/compare" ./compare
)
say "building Steersman"
make --no-print-directory build TARGET= >&2
own_render=$(cargo build --locked --quiet --release -p steersman-chart --bench render --message-format json |
    grep -F '"kind":["bench"]' | sed -nE 's/.*"executable":"([^"]+)".*/\1/p')

exec "$programs/compare" -corpus "$corpus" -helm "$programs/helm" -helm-render "$programs/helm-render" \
    -own-render "$own_render" -steersman "$target/release/steersman" "$@"
