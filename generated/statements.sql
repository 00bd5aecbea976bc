-- Written by `npm run generate`. Do not edit.

-- endAbandonedWrites
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE application_name = current_setting('application_name')
  AND datname = current_database()
  AND usename = current_user
  AND wait_event = 'SyncRep'
  AND query_start < now() - $1 * interval '1 ms';

-- listCategories
WITH current_fingerprint AS MATERIALIZED (
  SELECT concat_ws(
    ' ',
    pg_current_snapshot(),
    pg_postmaster_start_time(),
    pg_stat_get_bgwriter_stat_reset_time()
  ) AS fingerprint
),
list AS MATERIALIZED (
  SELECT
    fingerprint,
    CASE WHEN fingerprint IS DISTINCT FROM $1 THEN (
      SELECT '[' || coalesce(string_agg('{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"description":' || to_json(description)::text, '') || '}', ',' ORDER BY id), '') || ']'
      FROM categories
    ) END AS body
  FROM current_fingerprint
)
SELECT
  fingerprint,
  octet_length(body) AS size,
  CASE WHEN octet_length(body) <= $2 THEN body END AS body
FROM list;

-- createCategory
WITH input AS MATERIALIZED (
  SELECT (value ->> 0)::text AS name, (value ->> 1)::text AS description, ordinal
  FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
),
checked AS MATERIALIZED (
  SELECT *, coalesce(NULL, 'created') AS outcome
  FROM input
),
candidate AS MATERIALIZED (
  SELECT *, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"description":' || to_json(description)::text, '') || '}' AS response
  FROM (
    SELECT
      *,
      CASE WHEN outcome = 'created' THEN nextval('categories_id_seq') END AS id
    FROM checked
    ORDER BY ordinal
  ) AS numbered
),
stored AS (
  INSERT INTO categories (id, name, description)
  SELECT id, name, description
  FROM candidate
  WHERE id IS NOT NULL
  RETURNING id
)
SELECT
  CASE
    WHEN outcome <> 'created' THEN outcome
    WHEN stored.id IS NULL THEN raise_not_stored('categories')
    ELSE 'created'
  END AS outcome,
  response
FROM candidate
LEFT JOIN stored ON stored.id = candidate.id
ORDER BY ordinal;

-- createCategoryIdempotent
WITH input AS MATERIALIZED (
  SELECT (value ->> 0)::text AS name, (value ->> 1)::text AS description, (value ->> 2)::bytea AS key_hash, (value ->> 3)::bytea AS body_hash, ordinal
  FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
),
checked AS MATERIALIZED (
  SELECT
    *,
    coalesce(
      CASE
        WHEN earlier_body_hash = body_hash
          AND pg_logical_emit_message(true, 'replay', '') IS NOT NULL
          THEN 'replayed'
        WHEN earlier_body_hash IS NOT NULL
          THEN 'reused'
        WHEN row_number() OVER (PARTITION BY key_hash ORDER BY ordinal) > 1
          OR NOT pg_try_advisory_xact_lock(
            hashtextextended(key_hash::text, 0)
          )
          THEN 'in_use'
      END,
      NULL,
      'created'
    ) AS outcome
  FROM input
  LEFT JOIN LATERAL (
    SELECT body_hash AS earlier_body_hash, response AS earlier_response
    FROM idempotency_keys
    WHERE idempotency_keys.key_hash = input.key_hash
    LIMIT 1
  ) AS earlier ON true
),
candidate AS MATERIALIZED (
  SELECT *, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"description":' || to_json(description)::text, '') || '}' AS response
  FROM (
    SELECT
      *,
      CASE WHEN outcome = 'created' THEN nextval('categories_id_seq') END AS id
    FROM checked
    ORDER BY ordinal
  ) AS numbered
),
new_idempotency_key AS (
  INSERT INTO idempotency_keys (key_hash, body_hash, response)
  SELECT key_hash, body_hash, response
  FROM candidate
  WHERE id IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING key_hash
),
stored AS (
  INSERT INTO categories (id, name, description)
  SELECT id, name, description
  FROM candidate
  JOIN new_idempotency_key USING (key_hash)
  WHERE id IS NOT NULL
  RETURNING id
)
SELECT
  CASE
    WHEN outcome <> 'created' THEN outcome
    WHEN new_idempotency_key.key_hash IS NULL THEN 'in_use'
    WHEN stored.id IS NULL THEN raise_not_stored('categories')
    ELSE 'created'
  END AS outcome,
  coalesce(earlier_response, response) AS response
FROM candidate
LEFT JOIN new_idempotency_key USING (key_hash)
LEFT JOIN stored ON stored.id = candidate.id
ORDER BY ordinal;

-- createMessage
WITH input AS MATERIALIZED (
  SELECT (value ->> 0)::text AS message, ordinal
  FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
),
checked AS MATERIALIZED (
  SELECT *, coalesce(NULL, 'created') AS outcome
  FROM input
),
candidate AS MATERIALIZED (
  SELECT *, '{"id":' || to_json(id)::text || coalesce(',"message":' || to_json(message)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || coalesce(',"createdAt":' || to_json(to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text, '') || '}' AS response
  FROM (
    SELECT
      *,
      'queued' AS status, now()::timestamptz(3) AS created_at,
      CASE WHEN outcome = 'created' THEN uuid_v7() END AS id
    FROM checked
    ORDER BY ordinal
  ) AS numbered
),
stored AS (
  INSERT INTO messages (id, message, status, created_at)
  SELECT id, message, status, created_at
  FROM candidate
  WHERE id IS NOT NULL
  RETURNING id
)
SELECT
  CASE
    WHEN outcome <> 'created' THEN outcome
    WHEN stored.id IS NULL THEN raise_not_stored('messages')
    ELSE 'created'
  END AS outcome,
  response
FROM candidate
LEFT JOIN stored ON stored.id = candidate.id
ORDER BY ordinal;

-- createMessageIdempotent
WITH input AS MATERIALIZED (
  SELECT (value ->> 0)::text AS message, (value ->> 1)::bytea AS key_hash, (value ->> 2)::bytea AS body_hash, ordinal
  FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
),
checked AS MATERIALIZED (
  SELECT
    *,
    coalesce(
      CASE
        WHEN earlier_body_hash = body_hash
          AND pg_logical_emit_message(true, 'replay', '') IS NOT NULL
          THEN 'replayed'
        WHEN earlier_body_hash IS NOT NULL
          THEN 'reused'
        WHEN row_number() OVER (PARTITION BY key_hash ORDER BY ordinal) > 1
          OR NOT pg_try_advisory_xact_lock(
            hashtextextended(key_hash::text, 0)
          )
          THEN 'in_use'
      END,
      NULL,
      'created'
    ) AS outcome
  FROM input
  LEFT JOIN LATERAL (
    SELECT body_hash AS earlier_body_hash, response AS earlier_response
    FROM idempotency_keys
    WHERE idempotency_keys.key_hash = input.key_hash
    LIMIT 1
  ) AS earlier ON true
),
candidate AS MATERIALIZED (
  SELECT *, '{"id":' || to_json(id)::text || coalesce(',"message":' || to_json(message)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || coalesce(',"createdAt":' || to_json(to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text, '') || '}' AS response
  FROM (
    SELECT
      *,
      'queued' AS status, now()::timestamptz(3) AS created_at,
      CASE WHEN outcome = 'created' THEN uuid_v7() END AS id
    FROM checked
    ORDER BY ordinal
  ) AS numbered
),
new_idempotency_key AS (
  INSERT INTO idempotency_keys (key_hash, body_hash, response)
  SELECT key_hash, body_hash, response
  FROM candidate
  WHERE id IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING key_hash
),
stored AS (
  INSERT INTO messages (id, message, status, created_at)
  SELECT id, message, status, created_at
  FROM candidate
  JOIN new_idempotency_key USING (key_hash)
  WHERE id IS NOT NULL
  RETURNING id
)
SELECT
  CASE
    WHEN outcome <> 'created' THEN outcome
    WHEN new_idempotency_key.key_hash IS NULL THEN 'in_use'
    WHEN stored.id IS NULL THEN raise_not_stored('messages')
    ELSE 'created'
  END AS outcome,
  coalesce(earlier_response, response) AS response
FROM candidate
LEFT JOIN new_idempotency_key USING (key_hash)
LEFT JOIN stored ON stored.id = candidate.id
ORDER BY ordinal;

-- listOrders
SELECT id, '{"id":' || to_json(id)::text || coalesce(',"petId":' || to_json(pet_id)::text, '') || coalesce(',"quantity":' || to_json(quantity)::text, '') || coalesce(',"shipDate":' || to_json(to_char(ship_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text, '') || coalesce(',"complete":' || to_json(complete)::text, '') || '}' AS json
FROM orders
WHERE id > $1
ORDER BY id
LIMIT $2;

-- listPets
SELECT id, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"categoryId":' || to_json(category_id)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || '}' AS json
FROM pets
WHERE id > $1
ORDER BY id
LIMIT $2;

-- listPetsByStatus
SELECT id, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"categoryId":' || to_json(category_id)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || '}' AS json
FROM pets
WHERE (status, id) > ($3, $1)
  AND status <= $3
ORDER BY status, id
LIMIT $2;

-- getPet
SELECT id AS lookup_value, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"categoryId":' || to_json(category_id)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || '}' AS json
FROM pets
WHERE id = ANY ($1);

-- createPet
WITH input AS MATERIALIZED (
  SELECT (value ->> 0)::text AS name, (value ->> 1)::bigint AS category_id, (value ->> 2)::text AS status, ordinal
  FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
),
checked AS MATERIALIZED (
  SELECT *, coalesce(try_lock_category(category_id), 'created') AS outcome
  FROM input
),
candidate AS MATERIALIZED (
  SELECT *, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"categoryId":' || to_json(category_id)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || '}' AS response
  FROM (
    SELECT
      *,
      CASE WHEN outcome = 'created' THEN nextval('pets_id_seq') END AS id
    FROM checked
    ORDER BY ordinal
  ) AS numbered
),
stored AS (
  INSERT INTO pets (id, name, category_id, status)
  SELECT id, name, category_id, status
  FROM candidate
  WHERE id IS NOT NULL
  RETURNING id
)
SELECT
  CASE
    WHEN outcome <> 'created' THEN outcome
    WHEN stored.id IS NULL THEN raise_not_stored('pets')
    ELSE 'created'
  END AS outcome,
  response
FROM candidate
LEFT JOIN stored ON stored.id = candidate.id
ORDER BY ordinal;

-- createPetIdempotent
WITH input AS MATERIALIZED (
  SELECT (value ->> 0)::text AS name, (value ->> 1)::bigint AS category_id, (value ->> 2)::text AS status, (value ->> 3)::bytea AS key_hash, (value ->> 4)::bytea AS body_hash, ordinal
  FROM jsonb_array_elements($1) WITH ORDINALITY AS element (value, ordinal)
),
checked AS MATERIALIZED (
  SELECT
    *,
    coalesce(
      CASE
        WHEN earlier_body_hash = body_hash
          AND pg_logical_emit_message(true, 'replay', '') IS NOT NULL
          THEN 'replayed'
        WHEN earlier_body_hash IS NOT NULL
          THEN 'reused'
        WHEN row_number() OVER (PARTITION BY key_hash ORDER BY ordinal) > 1
          OR NOT pg_try_advisory_xact_lock(
            hashtextextended(key_hash::text, 0)
          )
          THEN 'in_use'
      END,
      try_lock_category(category_id),
      'created'
    ) AS outcome
  FROM input
  LEFT JOIN LATERAL (
    SELECT body_hash AS earlier_body_hash, response AS earlier_response
    FROM idempotency_keys
    WHERE idempotency_keys.key_hash = input.key_hash
    LIMIT 1
  ) AS earlier ON true
),
candidate AS MATERIALIZED (
  SELECT *, '{"id":' || to_json(id)::text || coalesce(',"name":' || to_json(name)::text, '') || coalesce(',"categoryId":' || to_json(category_id)::text, '') || coalesce(',"status":' || to_json(status)::text, '') || '}' AS response
  FROM (
    SELECT
      *,
      CASE WHEN outcome = 'created' THEN nextval('pets_id_seq') END AS id
    FROM checked
    ORDER BY ordinal
  ) AS numbered
),
new_idempotency_key AS (
  INSERT INTO idempotency_keys (key_hash, body_hash, response)
  SELECT key_hash, body_hash, response
  FROM candidate
  WHERE id IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING key_hash
),
stored AS (
  INSERT INTO pets (id, name, category_id, status)
  SELECT id, name, category_id, status
  FROM candidate
  JOIN new_idempotency_key USING (key_hash)
  WHERE id IS NOT NULL
  RETURNING id
)
SELECT
  CASE
    WHEN outcome <> 'created' THEN outcome
    WHEN new_idempotency_key.key_hash IS NULL THEN 'in_use'
    WHEN stored.id IS NULL THEN raise_not_stored('pets')
    ELSE 'created'
  END AS outcome,
  coalesce(earlier_response, response) AS response
FROM candidate
LEFT JOIN new_idempotency_key USING (key_hash)
LEFT JOIN stored ON stored.id = candidate.id
ORDER BY ordinal;

-- lookUpApiKey
SELECT '\x' || encode(hash, 'hex') AS lookup_value, id, name, scopes
FROM api_keys
WHERE hash = ANY ($1)
  AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now());

-- deleteExpiredIdempotencyKeys
DELETE FROM idempotency_keys
WHERE key_hash IN (
  SELECT key_hash
  FROM idempotency_keys
  WHERE created_at >= to_timestamp($1)
    AND created_at < now() - interval '24 hours 10 minutes'
    AND (
      SELECT pg_try_advisory_xact_lock('idempotency_keys'::regclass::bigint)
    )
  ORDER BY created_at
  LIMIT 500
)
RETURNING extract(epoch FROM created_at)::float8 AS "createdAt";

-- appliedMigrations
SELECT name FROM applied_migrations;

-- unreleasedTables
SELECT
WHERE to_regclass('api_keys') IS NOT NULL
  AND to_regclass('applied_migrations') IS NULL;
