-- Messages, each waiting for its consumer. The id is made by the service: a UUID of version 7, whose order is the order of
-- time, and which Postgres 15 to 17 cannot make.
CREATE TABLE messages (
  id uuid PRIMARY KEY,
  message text NOT NULL,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'done')),
  -- To the millisecond, as it is answered.
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

-- For the consumers: as small as the queue is, however many messages are done.
CREATE INDEX messages_queued ON messages (id) WHERE status = 'queued';
