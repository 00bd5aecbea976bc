-- The framework
GRANT SELECT ON pgmigrations TO :"role";
GRANT SELECT, INSERT, UPDATE ON api_keys TO :"role";
GRANT SELECT, INSERT ON key_events TO :"role";
GRANT SELECT, INSERT, DELETE ON idempotency_keys TO :"role";

-- The museum
GRANT SELECT, INSERT ON events TO :"role";
GRANT USAGE ON SEQUENCE events_id_seq TO :"role";
