#!/bin/sh
# Writes functions.txt and snippets.jsonl anew. Needs Go, and Helm's module from the Go module proxy.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
cd "$work"

go mod init record
go get helm.sh/helm/v4@v4.3.1
cp -r "$(go list -m -f '{{.Dir}}' helm.sh/helm/v4)" helm
chmod -R u+w helm
echo 'package engine; func Functions() map[string]any { return funcMap() }' > helm/pkg/engine/functions.go
go mod edit -replace helm.sh/helm/v4=./helm

echo 'package template; func Builtins() map[string]any { return builtins() }' > builtins.txt
echo "{\"Replace\": {\"$(go env GOROOT)/src/text/template/functions.go\": \"$work/builtins.txt\"}}" > overlay.json

cp "$here/functions.go" "$here/snippets.go" .
go mod tidy
go run -overlay overlay.json functions.go > "$here/functions.txt"
TZ=UTC go run -overlay overlay.json snippets.go < "$here/snippets.jsonl" > snippets.jsonl
mv snippets.jsonl "$here/snippets.jsonl"
