# What the scripts share. Begins in the root of the clone.
set -eu
# Dumps and .env are for their owner only.
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

# Lets one script run at a time: lock SECONDS, for which it waits for another
lock() {
  exec 9<deploy
  flock -w "$1" 9 ||
    fail 'Another script of deploy/ runs. Nothing was changed: try again when it has ended.'
}

# As lock, for scripts that change the database.
lock_db() {
  lock "$1"
  ! docker compose ps -aq db | xargs -r docker inspect -f '{{.Config.Cmd}}' |
    grep -q listen_addresses=127 ||
    fail 'A script was killed while the service was stopped. First: docker compose up -d --wait'
}

in_db() { docker compose exec -T db "$@"; }

sql() {
  in_db psql -qAtX -v ON_ERROR_STOP=1 -U postgres -d pet_categories -c "$1" </dev/null
}

# Replaces what the owner of the tables has in a database with the dump from stdin, in
# one transaction: restore_into DATABASE
restore_into() {
  in_db sh -euc '
    file=$(mktemp)
    trap "rm -f $file" EXIT
    pg_restore -f "$file"
    psql -qX1 -v ON_ERROR_STOP=1 -U postgres -d "$0" \
      -c "DROP OWNED BY pet_categories_owner CASCADE" -f "$file"
  ' "$1" >/dev/null
}

# Writes the time for the alert NoBackup, which node_exporter reads:
# record_backup dump, record_backup base
record_backup() {
  install -d -m 755 metrics
  echo "backup_last_success_timestamp_seconds{kind=\"$1\"} $(date +%s)" >"metrics/$1.part"
  chmod 644 "metrics/$1.part"
  mv "metrics/$1.part" "metrics/$1.prom"
  # Of deploy/secrets.
  rm -f metrics/none.prom
}

has_archive() { in_db sh -c 'test -d "${ARCHIVE_FOLDER:-}"' </dev/null; }

# Runs shell commands from stdin with the volume of `db`, whose container may be stopped.
in_volume() {
  docker compose run --rm --no-deps -T "$@" db sh -eu
}

# Keeps the log of each container of a service that is about to be removed, for 30 days:
# save_logs SERVICE CONTAINER…
save_logs() {
  mkdir -p logs
  find logs -name '*.gz' -mtime +30 -delete
  service=$1
  shift
  for container in "$@"; do
    docker logs "$container" 2>&1 | gzip >"logs/$service-$container.gz"
  done
}

# Stops the service, for scripts that replace the container of `db`.
stop_api() {
  echo 'The service is stopped now. If this script is killed: docker compose up -d --wait' >&2
  docker compose stop api
  save_logs db $(docker compose ps -aq db)
}

# Begins to replace the current cluster with another one, in $folder. use_cluster completes
# it, go_back undoes it. Until then, .env names the current one, and only variables name
# the other. Meanwhile, nobody but these scripts can connect to either.
replace_cluster() {
  trap go_back EXIT
  stop_api
  export DATABASE_LISTEN=127.0.0.1
}

# Removes what the other one has written.
discard() {
  echo "rm -rf /var/lib/postgresql/data/$folder /archive/$folder" | in_volume
}

undo='mv .env.previous .env && docker compose up -d --wait'

go_back() {
  trap - EXIT
  rm -f upgrade.dump
  echo 'This failed. The previous cluster is started again. The log of the database:' >&2
  docker compose logs --no-log-prefix --tail 10 db >&2 || true
  docker compose stop db || true
  unset DATABASE_FOLDER DATABASE_IMAGE DATABASE_LISTEN
  docker compose up -d --wait || true
  discard
  exit 1
}

# Writes a new file, on disk, before it replaces the old one, and then its name.
replace_file() {
  sync "$1"
  mv "$1" "$2"
  sync "$(dirname "$2")"
}

# Sets a variable in .env.part: configure NAME VALUE
configure() {
  # The last line may have no end.
  sed -i -e "/^$1=/d" -e '$a\' .env.part
  echo "$1=$2" >>.env.part
}

use_cluster() {
  cp -p .env .env.part
  replace_file .env.part .env.previous
  cp -p .env.previous .env.part
  configure DATABASE_FOLDER "$folder"
  if [ -n "${DATABASE_IMAGE:-}" ]; then configure DATABASE_IMAGE "$DATABASE_IMAGE"; fi
  # go_back would remove the cluster that .env names from here on.
  trap - EXIT
  replace_file .env.part .env
  unset DATABASE_LISTEN
  docker compose up -d --wait ||
    fail "The database is replaced, but the service does not become ready. To undo it: $undo"
  if has_archive; then
    # A newer base backup: deploy/recover would use that of the abandoned cluster, whose WAL ends there.
    undo="$undo && deploy/base-backup"
    exec 9<&-
    deploy/base-backup || fail 'The service is ready, but its base backup failed: run deploy/base-backup.'
  fi
}
