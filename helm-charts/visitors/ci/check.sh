#!/bin/sh
# Checks the chart with real Helm: every ci/*-values.yaml must lint and render, on the oldest and a new Kubernetes, and
# every ci/invalid/*.yaml must be refused with the message in its first line. HELM names the helm to use.
set -u
cd "$(dirname "$0")/.." || exit 1
helm=${HELM:-helm}
failures=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

report() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$1"
  cat "$output"
}

for values in ci/*-values.yaml; do
  "$helm" lint --strict --values "$values" . >"$output" 2>&1 || report "helm lint --values $values"
  for version in 1.25.0 1.36.0; do
    "$helm" template site . --namespace sites --kube-version "$version" --values "$values" >"$output" 2>&1 ||
      report "helm template --kube-version $version --values $values"
  done
done

for values in ci/invalid/*.yaml; do
  message=$(sed -n '1s/^# error: //p' "$values")
  if "$helm" template site . --values "$values" >"$output" 2>&1; then
    report "$values is accepted"
  elif ! grep -qF -- "$message" "$output"; then
    report "$values is refused without '$message'"
  fi
done

[ "$failures" -eq 0 ] && echo "every variant behaves"
exit "$((failures > 0))"
