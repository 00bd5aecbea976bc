GRANT SELECT ON pgmigrations TO :"role";
GRANT SELECT, INSERT, UPDATE (last_used_at, revoked_at, expires_at, replaced_by)
ON api_keys TO :"role";
GRANT SELECT, INSERT ON key_events TO :"role";
GRANT SELECT, INSERT, DELETE ON idempotency_keys TO :"role";
GRANT EXECUTE ON FUNCTION
  raise_missing_property(text), raise_missing_row(text), finite_number(text, text)
TO :"role";

GRANT SELECT ON stations TO :"role";
GRANT SELECT, INSERT, DELETE ON bookings TO :"role";
