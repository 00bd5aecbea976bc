-- The key that a rotation made in place of this one.
ALTER TABLE api_keys ADD COLUMN replaced_by bigint REFERENCES api_keys (id);

-- Until now a rotation recorded two events in one transaction, and so at one time: 'rotated' for the old key and 'created' for the
-- new one, under the same command. It shows one successor for each old key, unless a key was rotated twice: the first one counts.
UPDATE api_keys SET replaced_by = (
  SELECT min(successor.key_id)
  FROM key_events AS rotation
  JOIN key_events AS successor ON successor.event = 'created' AND successor.at = rotation.at AND successor.command = rotation.command
  WHERE rotation.event = 'rotated' AND rotation.key_id = api_keys.id
);
