#!/bin/sh
# Prints what changed for clients from the released document to openapi.yaml, or
# between two files. Exits 1 for a breaking change without a new major version,
# and for a major version without its base path.
set -eu

folder=$(dirname "$0")
before=${1:-$folder/../released/openapi.yaml}
if [ ! -e "$before" ]; then
  echo 'No version is released yet.'
  exit
fi

before=$(realpath "$before")
after=$(realpath "${2:-$folder/../../../openapi.yaml}")
cd "$folder"
PATH="$PWD/../.venv/bin:$PATH"

major() {
  sed -n 's/^  version: \([0-9]*\)\..*/\1/p' "$1"
}

if ! grep -q "url: /v$(major "$after")$" "$after"; then
  echo "$after: info.version needs the base path /v$(major "$after")" >&2
  exit 1
fi

level=
if [ "$(major "$before")" = "$(major "$after")" ]; then
  level=WARN
  # oasdiff permits the removal of an operation after its sunset.
  for operation in $(sed -n 's/^      operationId: //p' "$before"); do
    if ! grep -q "^      operationId: $operation$" "$after"; then
      echo "$operation was removed" >&2
      exit 1
    fi
  done
fi

# docs/versioning.md promises six months of notice: 181 days at least.
go tool oasdiff changelog ${level:+--fail-on $level} \
  --severity-levels severity.txt --deprecation-days-stable 181 \
  --flatten-allof --flatten-params --include-path-params "$before" "$after"
