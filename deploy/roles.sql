-- The roles of the database, whose passwords are in secrets/. Runs on a new volume.
--
-- The owner of the tables migrates them. The service has only the privileges that
-- migrations/grants.sql gives it: it cannot change or drop a table.
\set owner_password `sed 's|.*://[^:]*:||; s|@.*||' /run/secrets/owner_database_url`
\set service_password `sed 's|.*://[^:]*:||; s|@.*||' /run/secrets/database_url`
CREATE ROLE pet_categories_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE pet_categories_service LOGIN PASSWORD :'service_password';
ALTER DATABASE pet_categories OWNER TO pet_categories_owner;
