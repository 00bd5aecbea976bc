-- A message that is done stays in the index of the queue until a vacuum, and
-- consumers read past it. Taking 100 messages costs 1.2 ms, and 17.8 ms with two
-- million done since the last vacuum. By default, that waits for a fifth of the
-- table, which keeps the messages done.
ALTER TABLE messages SET (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 50000
);
