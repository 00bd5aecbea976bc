# What the scripts share that change the database. Begins in the root of the clone.
set -eu
# Dumps are for their owner only.
umask 077
cd "$(dirname "$0")/.."

# An interrupted script undoes what it began, too: sh runs EXIT traps at an exit only.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "$*" >&2
  exit 1
}

in_db() { docker compose exec -T db "$@"; }

sql() {
  in_db psql -qAtX -v ON_ERROR_STOP=1 -U postgres -d pet_categories -c "$1" </dev/null
}

# Sets a variable in .env: configure NAME VALUE
configure() {
  # The last line may have no end.
  sed -i -e "/^$1=/d" -e '$a\' .env
  echo "$1=$2" >>.env
}

has_archive() { in_db sh -c 'test -d "${ARCHIVE_FOLDER:-}"' </dev/null; }

# Runs shell commands from stdin with the volume of `db`, whose container may be stopped.
in_volume() {
  docker compose run --rm --no-deps -T "$@" db sh -eu
}

# Lets `db` use another cluster of the volume: use_cluster FOLDER [IMAGE]
use_cluster() {
  cp -p .env .env.part
  mv .env.part .env.previous
  configure DATABASE_FOLDER "$1"
  if [ $# = 2 ]; then configure DATABASE_IMAGE "$2"; fi
}

# Starts the previous cluster and the service again: go_back FOLDER, which is removed
go_back() {
  trap - EXIT
  echo 'This failed. The previous cluster is started again. The log of the new one:' >&2
  docker compose logs --no-log-prefix --tail 10 db >&2 || true
  docker compose stop db || true
  mv .env.previous .env
  echo "rm -rf /var/lib/postgresql/data/$1" | in_volume
  docker compose up -d --wait
  exit 1
}
