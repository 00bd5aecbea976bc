-- The tables and functions of the framework (src/framework).

-- An API key itself is never stored: hash is the SHA-256 of its text.
CREATE TABLE api_keys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  -- The first characters of the key, by which its owner recognizes it.
  prefix text NOT NULL,
  -- What the key may do, such as {categories:read}. NULL is everything, also
  -- what later versions add.
  scopes text[] CHECK (cardinality(scopes) > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- The API key that replaced this one in a rotation.
  replaced_by bigint REFERENCES api_keys (id),
  -- The first API key of a series of rotations, for each of its successors. It
  -- owns the idempotency keys of the series.
  root bigint REFERENCES api_keys (id)
);

-- The audit log of API keys.
CREATE TABLE key_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key_id bigint NOT NULL REFERENCES api_keys (id),
  event text NOT NULL CHECK (event IN ('created', 'rotated', 'revoked')),
  command text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- The creates that had an Idempotency-Key and succeeded.
CREATE TABLE idempotency_keys (
  -- SHA-256 of the owner, the table and the Idempotency-Key.
  key bytea PRIMARY KEY,
  -- SHA-256 of the values of the body.
  fingerprint bytea NOT NULL,
  -- The body of the response.
  response text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- The statements of creates and lists call these functions
-- (generated/statements.sql).

-- In place of a required property that is NULL. It is volatile, because
-- PostgreSQL would call an immutable function when it plans the statement.
CREATE FUNCTION missing_property(property text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE COST 1 AS $$
BEGIN
  RAISE '% must not be null', property USING ERRCODE = 'null_value_not_allowed';
END $$;

-- In place of a row that a trigger has dropped.
CREATE FUNCTION missing_row(relation text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE COST 1 AS $$
BEGIN
  RAISE 'a row was not stored in the table %: a trigger dropped it', relation;
END $$;

-- The text of a number as JSON, which has neither NaN nor Infinity.
CREATE FUNCTION finite_number(property text, number text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1 AS $$
BEGIN
  IF number IN ('NaN', 'Infinity', '-Infinity') THEN
    RAISE '% must be a finite number, not %', property, number
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN number;
END $$;

CREATE UNLOGGED TABLE changes (relation oid, xid xid8, PRIMARY KEY (relation, xid));
CREATE UNLOGGED TABLE change_epoch (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton)
);
INSERT INTO change_epoch DEFAULT VALUES;

SELECT set_config(
  'search_path', format('%I, pg_temp', current_schema()), true
);
CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO changes VALUES (TG_RELID, pg_current_xact_id()) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE PROCEDURE record_changes_of(watched regclass) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('
    CREATE OR REPLACE TRIGGER record_change
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
    EXECUTE FUNCTION record_change()', watched);
  EXECUTE format('
    ALTER TABLE %s ENABLE ALWAYS TRIGGER record_change', watched);

  EXECUTE format('
    CREATE OR REPLACE TRIGGER record_replicated_change
    AFTER INSERT OR UPDATE OR DELETE ON %s
    FOR EACH ROW EXECUTE FUNCTION record_change()', watched);
  EXECUTE format('
    ALTER TABLE %s ENABLE REPLICA TRIGGER record_replicated_change', watched);
END $$;
CREATE OR REPLACE FUNCTION changed_since(relation oid, earlier pg_snapshot)
RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM changes
    WHERE changes.relation = changed_since.relation
      AND xid >= pg_snapshot_xmax(earlier)
      AND xid < pg_snapshot_xmax(pg_current_snapshot())
    UNION ALL
    SELECT FROM changes
    WHERE changes.relation = changed_since.relation
      AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(earlier)))
  );
END $$;
CREATE OR REPLACE FUNCTION prune_changes() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  now pg_snapshot := pg_current_snapshot();
BEGIN
  IF NOT EXISTS (SELECT FROM change_epoch) THEN
    -- A crash has emptied both tables, and so lost the rows of prepared
    -- transactions. Without an epoch, lists are read each time: there must be
    -- none until those transactions have ended.
    IF EXISTS (
      SELECT FROM pg_prepared_xacts WHERE database = current_database()
    ) THEN
      RETURN;
    END IF;
  ELSIF NOT EXISTS (
    SELECT FROM changes WHERE pg_visible_in_snapshot(xid, now) OFFSET 9999
  ) THEN
    RETURN;
  END IF;

  INSERT INTO change_epoch DEFAULT VALUES
  ON CONFLICT (singleton) DO UPDATE SET id = excluded.id;

  -- As many as take a fraction of a second.
  DELETE FROM changes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM changes
    WHERE pg_visible_in_snapshot(xid, now)
    LIMIT 100000
  ));
END $$;
REVOKE ALL ON FUNCTION prune_changes() FROM PUBLIC;
REVOKE ALL ON FUNCTION record_change() FROM PUBLIC;
