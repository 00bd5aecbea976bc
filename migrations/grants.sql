-- What the service needs, and no more: its role owns nothing. Every run of
-- migrate applies this file, even if no migration is pending. Other versions of
-- the service may be running: revoke only what none of them uses.

-- The role has no password. So it can log in only where pg_hba.conf asks for
-- none, until its owner sets one. A login of another name can be made a member.
DO $$ BEGIN
  IF to_regrole('pet_categories_service') IS NULL THEN
    CREATE ROLE pet_categories_service LOGIN;
  END IF;
EXCEPTION
  -- The migration of another database of this server was faster.
  WHEN duplicate_object OR unique_violation THEN
    NULL;
  WHEN insufficient_privilege THEN
    RAISE 'the role pet_categories_service does not exist, and % may not create roles: as a superuser, run CREATE ROLE pet_categories_service LOGIN',
      current_user;
END $$;

GRANT SELECT, INSERT ON categories, pets, messages TO pet_categories_service;
GRANT SELECT ON orders, applied_migrations TO pet_categories_service;
GRANT SELECT, INSERT, DELETE ON idempotency_keys TO pet_categories_service;
-- Operators run keys with the login of the service.
GRANT SELECT, INSERT, UPDATE (revoked_at) ON api_keys TO pet_categories_service;
GRANT USAGE ON SEQUENCE categories_id_seq, pets_id_seq TO pet_categories_service;
GRANT EXECUTE ON FUNCTION
  try_lock_category(bigint), raise_not_stored(text), uuid_v7()
TO pet_categories_service;
