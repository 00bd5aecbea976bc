-- What DATABASE_SERVICE_ROLE needs. Migrating runs this, even if no migration is
-- pending. By hand: psql -1 -v role=NAME -f migrations/grants.sql
-- Other versions may be running: revoke here only what none of them uses.

-- The framework
GRANT SELECT ON pgmigrations TO :"role";
GRANT SELECT, INSERT, UPDATE (last_used_at, revoked_at, expires_at, replaced_by)
ON api_keys TO :"role";
GRANT SELECT, INSERT, DELETE ON idempotency_keys TO :"role";
GRANT EXECUTE ON FUNCTION
  raise_missing_property(text), raise_missing_row(text), finite_number(text, text)
TO :"role";

-- The pet shop
GRANT SELECT, INSERT ON categories, pets, messages TO :"role";
GRANT USAGE ON SEQUENCE categories_id_seq, pets_id_seq TO :"role";
GRANT EXECUTE ON FUNCTION
  check_category(bigint), time_ordered_uuid()
TO :"role";
GRANT SELECT, DELETE ON orders TO :"role";
