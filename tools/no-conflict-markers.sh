#!/bin/sh
# Fails if a file still has the markers of a merge conflict. No linter sees them
# in Markdown, YAML, SQL or a shell script, where they may be valid text.
# Prettier turns the marker >>>>>>> into seven nested quotes of Markdown.
set -eu

if git grep -nE '^(<<<<<<<|>>>>>>>|(> ){6}>)'; then
  echo 'These lines are markers of a merge conflict: resolve it.' >&2
  exit 1
fi
