#!/bin/sh
# Prints the path of an OpenTelemetry Collector. Its own builder makes it from
# collector.yaml, at the first use and after a change. Needs Go 1.26, which
# requirements.txt has.
set -eu
cd "$(dirname "$0")/../.."
PATH="$PWD/tools/deploy-check/.venv/bin:$PATH"
manifest=tools/deploy-check/collector.yaml
program=node_modules/.cache/otelcol/otelcol
version=$(sed -n 's/^  version: //p' $manifest)

if [ ! $program -nt $manifest ]; then
  echo 'Building the OpenTelemetry Collector, once. It takes minutes ...' >&2
  mkdir -p "$(dirname $program)"
  GOFLAGS=-buildvcs=false go run \
    "go.opentelemetry.io/collector/cmd/builder@v$version" \
    --config $manifest >&2
fi
echo $program
