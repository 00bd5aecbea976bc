#!/bin/sh
# Creates the roles of the database with the passwords of their secrets: one that owns the tables, for the migrations, and one
# that owns nothing, for the service. Runs on a new volume, and by hand after a password has changed.
set -eu

password() { sed -E 's|^[^:]+://[^:]+:([^@]+)@.*|\1|' "/run/secrets/$1"; }

psql -v ON_ERROR_STOP=1 -q -U postgres -d pet_categories \
  -v superuser="$(cat /run/secrets/postgres_password)" \
  -v owner="$(password owner_database_url)" -v service="$(password database_url)" <<'SQL'
SELECT format('CREATE ROLE %I LOGIN', role)
  FROM unnest(ARRAY['pet_categories_owner', 'pet_categories']) AS role
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) \gexec
ALTER ROLE postgres PASSWORD :'superuser';
ALTER ROLE pet_categories_owner PASSWORD :'owner';
ALTER ROLE pet_categories PASSWORD :'service';
-- If a CancelRequest of the service is lost. Longer than DATABASE_TIMEOUT_MS.
ALTER ROLE pet_categories SET statement_timeout = '1min';
ALTER DATABASE pet_categories OWNER TO pet_categories_owner;
REVOKE ALL ON DATABASE pet_categories FROM PUBLIC;
GRANT CONNECT ON DATABASE pet_categories TO pet_categories;
SQL
