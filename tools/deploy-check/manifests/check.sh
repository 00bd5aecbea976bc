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
custom='Cluster|Gateway|HTTPRoute|ObjectStore|PodMonitor|Pooler|PrometheusRule|ScheduledBackup|ServiceMonitor'

for overlay in staging production cloudnative-pg; do
  go tool kustomize build "$manifests/$overlay" >"$work/$overlay.yaml"
done
# A tag that YAML reads as a number must stay text.
cp -r "$manifests" "$work/digits"
sed -i "s/newTag: .* }/newTag: '20300131' }/" "$work/digits/staging/kustomization.yaml"
go tool kustomize build "$work/digits/staging" >"$work/digits.yaml"

# What docs/kubernetes.md adds to an overlay for a private registry.
cp -r "$manifests" "$work/registry"
sed -n '/^- target: { kind: ServiceAccount }$/,/^```$/ { /^```$/!p }' ../../../docs/kubernetes.md |
  sed 's/^/  /' >>"$work/registry/staging/kustomization.yaml"
go tool kustomize build "$work/registry/staging" >"$work/registry.yaml"
if [ "$(grep -c '^imagePullSecrets:$' "$work/registry.yaml")" -ne 2 ]; then
  echo 'The patch of docs/kubernetes.md sets no imagePullSecrets.'
  exit 1
fi

kubernetes-validate --kubernetes-version 1.34 --strict --quiet "$work"/*.yaml "$manifests/test-database.yaml" \
  >"$work/report" 2>&1 || { cat "$work/report"; exit 1; }
if grep -vE "find schema for kind ($custom) " "$work/report"; then exit 1; fi
# Tags are fixed, so nothing has to be pulled always. The topology spread does what anti-affinity of nodes would.
go tool kube-score score "$work/staging.yaml" "$work/production.yaml" --exit-one-on-warning --output-format ci \
  --ignore-test container-image-pull-policy,deployment-has-host-podantiaffinity >"$work/score" ||
  { grep -vE '^\[(OK|SKIPPED)\]' "$work/score"; exit 1; }
echo "The manifests are valid. Not validated: $(echo "$custom" | sed 's/|/, /g')."
