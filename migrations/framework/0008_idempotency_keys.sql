-- The first API key of a series of rotations, for each of its successors. It
-- owns the idempotency keys of the series.
ALTER TABLE api_keys ADD COLUMN root bigint REFERENCES api_keys (id);

WITH RECURSIVE series AS (
  SELECT id AS root, replaced_by AS id FROM api_keys
  WHERE replaced_by IS NOT NULL AND id NOT IN (SELECT replaced_by FROM api_keys WHERE replaced_by IS NOT NULL)
  UNION
  SELECT series.root, replaced_by FROM series JOIN api_keys USING (id)
)
UPDATE api_keys SET root = series.root FROM series WHERE api_keys.id = series.id;

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
