# shellcheck shell=bash
# What roll, backup and restore share. Begins in the root of the clone.
set -eu
# What they write is for its owner only.
umask 077
cd "$(dirname "$0")/.."

# sh runs the trap of EXIT at an exit only.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "$*" >&2
  exit 1
}

# lock SECONDS: waits that long for another script of deploy/ to end, and then fails.
lock() {
  exec 9<deploy
  flock -w "$1" 9 || fail 'Another script of deploy/ runs. Nothing was changed.'
}

in_db() { docker compose exec -T -e PGOPTIONS='-c client_min_messages=warning' db "$@"; }
