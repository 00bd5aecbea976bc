-- The API key that replaced this one in a rotation.
ALTER TABLE api_keys ADD COLUMN replaced_by bigint REFERENCES api_keys (id);

-- Earlier versions recorded a rotation only as two events of one transaction:
-- 'rotated' for the old key, 'created' for the new one. Both have the same time
-- and command. If a key was rotated twice, the first successor counts.
UPDATE api_keys SET replaced_by = (
  SELECT min(successor.key_id)
  FROM key_events AS rotation
  JOIN key_events AS successor ON successor.event = 'created' AND successor.at = rotation.at AND successor.command = rotation.command
  WHERE rotation.event = 'rotated' AND rotation.key_id = api_keys.id
);
