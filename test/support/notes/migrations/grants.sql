-- The framework, as in migrations/grants.sql
GRANT SELECT ON pgmigrations TO :"role";
GRANT SELECT, INSERT, UPDATE (last_used_at, revoked_at, expires_at, replaced_by)
ON api_keys TO :"role";
GRANT SELECT, INSERT, DELETE ON idempotency_keys TO :"role";
GRANT EXECUTE ON FUNCTION
  raise_missing_property(text), raise_missing_row(text), finite_number(text, text)
TO :"role";

-- The notes
GRANT SELECT, INSERT, DELETE ON notes TO :"role";
GRANT USAGE ON SEQUENCE notes_id_seq, replies_id_seq TO :"role";
GRANT SELECT, INSERT ON remarks, replies TO :"role";
