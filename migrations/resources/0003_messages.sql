-- Messages wait here for their consumers. The service makes the id: a UUID of
-- version 7, which sorts by time. PostgreSQL 15 to 17 cannot make one.
CREATE TABLE messages (
  id uuid PRIMARY KEY,
  message text NOT NULL,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'done')),
  -- To the millisecond, as the API returns it.
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

-- For the consumers. It grows with the queue, not with the messages done.
CREATE INDEX messages_queued ON messages (id) WHERE status = 'queued';
