ALTER TABLE api_keys
  -- The first characters of the key, by which its owner recognizes it. The
  -- rest is not stored.
  ADD COLUMN prefix text NOT NULL DEFAULT '',
  ADD COLUMN expires_at timestamptz,
  ADD COLUMN last_used_at timestamptz;

-- The audit log of API keys.
CREATE TABLE key_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key_id bigint NOT NULL REFERENCES api_keys (id),
  event text NOT NULL CHECK (event IN ('created', 'rotated', 'revoked')),
  command text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
