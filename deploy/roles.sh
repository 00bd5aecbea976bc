#!/bin/sh
# Creates the roles of the database, with the passwords of secrets/: one owns the
# tables, for the migrations. One owns nothing, for the service: a second one with
# the same privileges takes turns with it, so that a password changes while the
# service runs. One reads statistics, for monitoring. Runs on a new volume, and by
# hand after a password has changed.
#   roles.sh [end]   end: the role of the service that database_url does not name cannot
#                    log in any more
#   PSQL     how to run psql as a superuser of your own PostgreSQL, whose password
#            stays as it is
#   SECRETS  the folder of the secrets
set -eu
secrets=${SECRETS:-/run/secrets}

# Prints the user or the password of a URL: login 1 FILE, login 2 FILE
login() { sed -E "s|^[^:]+://([^:]+):([^@]+)@.*|\\$1|" "$secrets/$2"; }

# Prints a secret as a value of psql's \set.
quoted() { sed "s/[\\\\']/\\\\&/g"; }

superuser=$(quoted <"$secrets/postgres_password")
change_superuser="ALTER ROLE postgres PASSWORD :'superuser';"
[ -z "${PSQL:-}" ] || change_superuser=
monitor=$(quoted <"$secrets/monitor_password")
owner=$(login 2 owner_database_url | quoted)
role=$(login 1 database_url)
service=$(login 2 database_url | quoted)

# Through stdin, because each user of the host can read the arguments of a program.
${PSQL:-psql -U postgres} -v ON_ERROR_STOP=1 -qX -d pet_categories -v end="${1:-}" <<SQL
\set superuser '$superuser'
\set monitor '$monitor'
\set owner '$owner'
\set role '$role'
\set service '$service'
SET client_min_messages = warning;
SELECT format('CREATE ROLE %I LOGIN', role)
  FROM unnest(ARRAY['pet_categories_owner', 'pet_categories', 'pet_categories_2', 'pet_categories_monitor']) AS role
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) \gexec
$change_superuser
ALTER ROLE pet_categories_owner PASSWORD :'owner';
ALTER ROLE :"role" PASSWORD :'service';
ALTER ROLE pet_categories_monitor PASSWORD :'monitor';
SELECT format('ALTER ROLE %I PASSWORD NULL', role)
  FROM unnest(ARRAY['pet_categories', 'pet_categories_2']) AS role
  WHERE role <> :'role' AND :'end' = 'end' \gexec
-- Whoever had the role may have set something for it.
SELECT format('ALTER ROLE %I RESET ALL', role),
    format('ALTER ROLE %I IN DATABASE %I RESET ALL', role, current_database())
  FROM unnest(ARRAY['pet_categories', 'pet_categories_2']) AS role \gexec
-- If a CancelRequest of the service is lost. Longer than DATABASE_TIMEOUT_MS.
ALTER ROLE pet_categories SET statement_timeout = '2min';
ALTER ROLE pet_categories_2 SET statement_timeout = '2min';
ALTER DATABASE pet_categories OWNER TO pet_categories_owner;
REVOKE ALL ON DATABASE pet_categories FROM PUBLIC;
GRANT CONNECT ON DATABASE pet_categories TO pet_categories, pet_categories_monitor;
GRANT pet_categories TO pet_categories_2;
GRANT pg_monitor TO pet_categories_monitor;
SQL
