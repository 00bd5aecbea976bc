#!/bin/sh
# Checks the manifests in deploy/kubernetes by the schemas of Kubernetes and by kube-score. Go builds the tools at the first
# use, and keeps them in its cache.
set -eu
cd "$(dirname "$0")"
PATH="$PWD/../.venv/bin:$PATH"
manifests=../../../deploy/kubernetes
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# Defined by operators and the Gateway API: their schemas are no part of Kubernetes.
custom='Cluster|Gateway|HTTPRoute|ObjectStore|Pooler|PrometheusRule|ScheduledBackup|ServiceMonitor'

for overlay in staging production cloudnative-pg; do
  go tool kustomize build "$manifests/$overlay" >"$work/$overlay.yaml"
done
kubernetes-validate --kubernetes-version 1.34 --strict --quiet "$work"/*.yaml "$manifests/test-database.yaml" \
  >"$work/report" 2>&1 || { cat "$work/report"; exit 1; }
if grep -vE "find schema for kind ($custom) " "$work/report"; then exit 1; fi
# Tags are fixed, so nothing has to be pulled always. The topology spread does what anti-affinity of nodes would.
go tool kube-score score "$work/staging.yaml" "$work/production.yaml" --exit-one-on-warning --output-format ci \
  --ignore-test container-image-pull-policy,deployment-has-host-podantiaffinity >"$work/score" ||
  { grep -vE '^\[(OK|SKIPPED)\]' "$work/score"; exit 1; }
echo "The manifests are valid. Not validated: $(echo "$custom" | sed 's/|/, /g')."
