-- The tables and functions of the framework (src/framework).

-- In another encoding PostgreSQL rejects or changes text that the OpenAPI
-- document allows.
DO $$ BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE 'its encoding must be UTF8, not %: create one with ENCODING ''UTF8''',
      current_setting('server_encoding');
  END IF;
END $$;

-- An API key itself is never stored: hash is the SHA-256 of its text.
CREATE TABLE api_keys (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  -- The first characters of the key, by which its owner recognizes it.
  shown_part text NOT NULL UNIQUE,
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
  first_id bigint REFERENCES api_keys (id)
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
  -- SHA-256 of the owner, the method, the path of the route and the Idempotency-Key.
  key_hash bytea PRIMARY KEY,
  -- SHA-256 of the body, and of the other values of the row.
  body_hash bytea NOT NULL,
  -- The body of the response.
  response text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- The statements of creates and lists call these functions
-- (generated/statements.sql).

-- In place of a required property that is NULL. It is volatile, because
-- PostgreSQL would call an immutable function when it plans the statement.
CREATE FUNCTION raise_missing_property(property text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE COST 1 AS $$
BEGIN
  RAISE '% must not be null', property USING ERRCODE = 'null_value_not_allowed';
END $$;

-- In place of a row that a trigger has dropped, or whose id it has changed.
CREATE FUNCTION raise_missing_row(relation text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE COST 1 AS $$
BEGIN
  RAISE 'a row was not stored in the table %: a trigger dropped it, or changed its id', relation;
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
