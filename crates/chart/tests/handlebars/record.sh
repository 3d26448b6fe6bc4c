#!/bin/sh
# Writes golden/: what Helm renders of twin/, the same chart as examples/handlebars/guestbook in Go
# templates. HELM names the helm to use; the files here are those of Helm 4.3.1.
set -eu
cd "$(dirname "$0")"
for case in cases/*.yaml; do
    name=$(basename "$case" .yaml)
    "${HELM:-helm}" template demo twin --namespace party --values "$case" >"golden/$name.txt" 2>&1 || true
    "${HELM:-helm}" install demo twin --namespace party --values "$case" --dry-run=client --hide-secret 2>/dev/null |
        sed -n '/^NOTES:/,$p' >"golden/$name.notes" || true
done
