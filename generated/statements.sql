-- The SQL statements of each operation. A statement that several operations
-- run stands at the first of them. To run one, paste its PREPARE into psql, then
-- EXECUTE it with values: EXECUTE "pets-by-id"('{1,2}').
--
-- Recorded by test/resources/statements.test.ts. Do not edit.

-- Every operation

PREPARE "find-keys" AS
SELECT
  id,
  coalesce(root, id) AS root,
  CASE
    WHEN id IS NULL THEN 'unknown'
    WHEN revoked_at IS NOT NULL THEN 'revoked'
    WHEN expires_at <= now() THEN 'expired'
    ELSE 'valid'
  END AS state,
  scopes,
  coalesce(last_used_at = date_trunc('minute', now()), false) AS "isNoted"
FROM unnest(
  (SELECT $1::text[]::text[])
) WITH ORDINALITY AS input (hash, ordinal)
LEFT JOIN api_keys ON api_keys.hash = decode(input.hash, 'hex')
ORDER BY ordinal;

-- GET /categories

PREPARE "page-of-categories" AS
SELECT
  CASE WHEN $2 = 1 OR octet_length(items) <= 262144
    THEN items
  END AS items,
  octet_length(items) AS size,
  count,
  nulls,
  "lastId"
FROM (
  SELECT
    coalesce(string_agg(',' || json, ''), '') AS items,
    count(*)::integer AS count,
    (count(*) - count(json))::integer AS nulls,
    CASE count(*) WHEN $2 THEN max(id)::text END AS "lastId"
  FROM (
    SELECT id, '{"id":' || coalesce(id::text, missing_property('Category.id'))
      || ',"name":' || coalesce(to_json(name)::text, missing_property('Category.name'))
      || coalesce(',"description":' || to_json(description)::text, '')
      || '}' AS json
    FROM categories
    WHERE id > coalesce($1::bigint, -9223372036854775808)
    ORDER BY id
    LIMIT $2
  ) AS item
) AS page;

PREPARE "table-version" AS
SELECT
  pg_current_snapshot() AS snapshot,
  changed_since(watched.oid, $2) AS "isChanged",
  concat_ws(
    ' ',
    change_epoch.id,
    pg_postmaster_start_time(),
    pg_relation_filepath(watched.oid),
    watched.xmin,
    columns.versions,
    triggers.versions
  ) AS identity
FROM change_epoch
CROSS JOIN pg_class AS watched
CROSS JOIN LATERAL (
  SELECT string_agg(xmin::text, ' ' ORDER BY attnum) AS versions
  FROM pg_attribute
  WHERE attrelid = watched.oid AND attnum > 0
) AS columns
CROSS JOIN LATERAL (
  SELECT string_agg(concat(oid, ':', xmin), ' ' ORDER BY oid) AS versions
  FROM pg_trigger
  WHERE tgrelid = watched.oid
    AND (tgname, tgenabled) IN (
      ('record_change', 'A'),
      ('record_replicated_change', 'R')
    )
  HAVING count(*) = 2
) AS triggers
WHERE watched.oid = to_regclass($1)
  AND NOT watched.relhassubclass;

-- POST /categories

PREPARE "create-categories" AS
WITH input AS (
  SELECT *
  FROM unnest(
    (SELECT $1::text[]::text[]),
    (SELECT $2::text[]::text[])
  ) WITH ORDINALITY AS input (name, description, ordinal)
),
checked AS MATERIALIZED (
  SELECT *, NULL AS obstacle FROM input
),
numbered AS (
  SELECT
    CASE WHEN obstacle IS NULL THEN nextval('categories_id_seq') END AS id,
    checked.*
  FROM checked
  ORDER BY ordinal
),
new_row AS (
  SELECT
    *,
    CASE WHEN obstacle IS NULL THEN
      '{"id":' || coalesce(id::text, missing_property('Category.id'))
        || ',"name":' || coalesce(to_json(name)::text, missing_property('Category.name'))
        || coalesce(',"description":' || to_json(description)::text, '')
        || '}'
    END AS response
  FROM numbered
),
stored AS (
  INSERT INTO categories (id, name, description)
  SELECT id, name, description
  FROM new_row
  WHERE response IS NOT NULL
  ORDER BY ordinal
  RETURNING id
)
SELECT
  ordinal::integer,
  CASE
    WHEN stored.id IS NOT NULL THEN 'created'
    WHEN response IS NOT NULL THEN missing_row('categories')
    ELSE obstacle
  END AS outcome,
  response
FROM new_row
LEFT JOIN stored ON stored.id = new_row.id
ORDER BY ordinal;

PREPARE "create-categories-once" AS
WITH request AS (
  SELECT *
  FROM unnest(
    (SELECT $1::text[]::text[]),
    (SELECT $2::text[]::text[]),
    (SELECT $3::text[]::bytea[]),
    (SELECT $4::text[]::bytea[])
  ) WITH ORDINALITY AS input (name, description, key, fingerprint, ordinal)
),
input AS MATERIALIZED (
  SELECT
    request.*,
    record.fingerprint AS recorded_fingerprint,
    record.response AS recorded_response,
    CASE
      WHEN record.response IS NOT NULL THEN false
      WHEN row_number() OVER same_key > 1 THEN false
      ELSE pg_try_advisory_xact_lock(
        hashtextextended(encode(key, 'hex'), 0)
      )
    END AS may_claim
  FROM request
  LEFT JOIN LATERAL (
    SELECT
      fingerprint,
      response,
      pg_logical_emit_message(true, 'idempotency-key', '')
    FROM idempotency_keys
    WHERE idempotency_keys.key = request.key
    LIMIT 1
  ) AS record ON true
  WINDOW same_key AS (PARTITION BY key ORDER BY ordinal)
),
checked AS MATERIALIZED (
  SELECT *, NULL AS obstacle FROM input
),
numbered AS (
  SELECT
    CASE WHEN obstacle IS NULL AND may_claim THEN nextval('categories_id_seq') END AS id,
    checked.*
  FROM checked
  ORDER BY ordinal
),
new_row AS (
  SELECT
    *,
    CASE WHEN obstacle IS NULL AND may_claim THEN
      '{"id":' || coalesce(id::text, missing_property('Category.id'))
        || ',"name":' || coalesce(to_json(name)::text, missing_property('Category.name'))
        || coalesce(',"description":' || to_json(description)::text, '')
        || '}'
    END AS response
  FROM numbered
),
claimed AS (
  INSERT INTO idempotency_keys (key, fingerprint, response)
  SELECT key, fingerprint, response
  FROM new_row
  WHERE response IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING key, fingerprint, response
),
stored AS (
  INSERT INTO categories (id, name, description)
  SELECT id, name, description
  FROM new_row
  WHERE may_claim AND key IN (SELECT key FROM claimed)
  ORDER BY ordinal
  RETURNING id
),
known AS (
  SELECT
    new_row.id,
    ordinal,
    obstacle,
    new_row.fingerprint,
    may_claim AND claimed.key IS NOT NULL AS has_claimed,
    coalesce(recorded_fingerprint, claimed.fingerprint)
      AS known_fingerprint,
    coalesce(recorded_response, claimed.response) AS response
  FROM new_row
  LEFT JOIN claimed ON claimed.key = new_row.key
)
SELECT
  ordinal::integer,
  CASE
    WHEN stored.id IS NOT NULL THEN 'created'
    WHEN has_claimed THEN missing_row('categories')
    WHEN fingerprint = known_fingerprint THEN 'replayed'
    WHEN known_fingerprint IS NOT NULL THEN 'reused'
    WHEN obstacle IS NOT NULL THEN obstacle
    ELSE 'held'
  END AS outcome,
  response
FROM known
LEFT JOIN stored ON stored.id = known.id
ORDER BY ordinal;

-- POST /messages

PREPARE "create-messages" AS
WITH input AS (
  SELECT *
  FROM unnest(
    (SELECT $1::text[]::text[]),
    (SELECT $2::text[]::uuid[])
  ) WITH ORDINALITY AS input (message, id, ordinal)
),
checked AS MATERIALIZED (
  SELECT *, NULL AS obstacle FROM input
),
numbered AS (
  SELECT
    CASE WHEN obstacle IS NULL THEN 'queued' END AS status,
    CASE WHEN obstacle IS NULL THEN now()::timestamptz(3) END AS created_at,
    checked.*
  FROM checked
  ORDER BY ordinal
),
new_row AS (
  SELECT
    *,
    CASE WHEN obstacle IS NULL THEN
      '{"id":' || coalesce('"' || id || '"', missing_property('Message.id'))
        || ',"message":' || coalesce(to_json(message)::text, missing_property('Message.message'))
        || ',"status":' || coalesce(to_json(status)::text, missing_property('Message.status'))
        || ',"createdAt":' || coalesce('"' || to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', missing_property('Message.createdAt'))
        || '}'
    END AS response
  FROM numbered
),
stored AS (
  INSERT INTO messages (status, created_at, message, id)
  SELECT status, created_at, message, id
  FROM new_row
  WHERE response IS NOT NULL
  ORDER BY ordinal
  RETURNING id
)
SELECT
  ordinal::integer,
  CASE
    WHEN stored.id IS NOT NULL THEN 'created'
    WHEN response IS NOT NULL THEN missing_row('messages')
    ELSE obstacle
  END AS outcome,
  response
FROM new_row
LEFT JOIN stored ON stored.id = new_row.id
ORDER BY ordinal;

PREPARE "create-messages-once" AS
WITH request AS (
  SELECT *
  FROM unnest(
    (SELECT $1::text[]::text[]),
    (SELECT $2::text[]::uuid[]),
    (SELECT $3::text[]::bytea[]),
    (SELECT $4::text[]::bytea[])
  ) WITH ORDINALITY AS input (message, id, key, fingerprint, ordinal)
),
input AS MATERIALIZED (
  SELECT
    request.*,
    record.fingerprint AS recorded_fingerprint,
    record.response AS recorded_response,
    CASE
      WHEN record.response IS NOT NULL THEN false
      WHEN row_number() OVER same_key > 1 THEN false
      ELSE pg_try_advisory_xact_lock(
        hashtextextended(encode(key, 'hex'), 0)
      )
    END AS may_claim
  FROM request
  LEFT JOIN LATERAL (
    SELECT
      fingerprint,
      response,
      pg_logical_emit_message(true, 'idempotency-key', '')
    FROM idempotency_keys
    WHERE idempotency_keys.key = request.key
    LIMIT 1
  ) AS record ON true
  WINDOW same_key AS (PARTITION BY key ORDER BY ordinal)
),
checked AS MATERIALIZED (
  SELECT *, NULL AS obstacle FROM input
),
numbered AS (
  SELECT
    CASE WHEN obstacle IS NULL AND may_claim THEN 'queued' END AS status,
    CASE WHEN obstacle IS NULL AND may_claim THEN now()::timestamptz(3) END AS created_at,
    checked.*
  FROM checked
  ORDER BY ordinal
),
new_row AS (
  SELECT
    *,
    CASE WHEN obstacle IS NULL AND may_claim THEN
      '{"id":' || coalesce('"' || id || '"', missing_property('Message.id'))
        || ',"message":' || coalesce(to_json(message)::text, missing_property('Message.message'))
        || ',"status":' || coalesce(to_json(status)::text, missing_property('Message.status'))
        || ',"createdAt":' || coalesce('"' || to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', missing_property('Message.createdAt'))
        || '}'
    END AS response
  FROM numbered
),
claimed AS (
  INSERT INTO idempotency_keys (key, fingerprint, response)
  SELECT key, fingerprint, response
  FROM new_row
  WHERE response IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING key, fingerprint, response
),
stored AS (
  INSERT INTO messages (status, created_at, message, id)
  SELECT status, created_at, message, id
  FROM new_row
  WHERE may_claim AND key IN (SELECT key FROM claimed)
  ORDER BY ordinal
  RETURNING id
),
known AS (
  SELECT
    new_row.id,
    ordinal,
    obstacle,
    new_row.fingerprint,
    may_claim AND claimed.key IS NOT NULL AS has_claimed,
    coalesce(recorded_fingerprint, claimed.fingerprint)
      AS known_fingerprint,
    coalesce(recorded_response, claimed.response) AS response
  FROM new_row
  LEFT JOIN claimed ON claimed.key = new_row.key
)
SELECT
  ordinal::integer,
  CASE
    WHEN stored.id IS NOT NULL THEN 'created'
    WHEN has_claimed THEN missing_row('messages')
    WHEN fingerprint = known_fingerprint THEN 'replayed'
    WHEN known_fingerprint IS NOT NULL THEN 'reused'
    WHEN obstacle IS NOT NULL THEN obstacle
    ELSE 'held'
  END AS outcome,
  response
FROM known
LEFT JOIN stored ON stored.id = known.id
ORDER BY ordinal;

-- GET /pets

PREPARE "pages-of-pets" AS
SELECT
  convert_to(
    '[' || coalesce(array_to_string(found.pets[:size], ','), '') || ']',
    'UTF8'
  ) AS pets,
  CASE WHEN cardinality(found.pets) > size THEN found.ids[size] END AS next
FROM unnest(
  (SELECT $1::text[]::bigint[]),
  (SELECT $2::text[]::integer[])
) WITH ORDINALITY AS input (after, size, ordinal)
CROSS JOIN LATERAL (
  SELECT
    array_agg(id ORDER BY id) AS ids,
    array_agg(
      '{"id":' || coalesce(id::text, missing_property('Pet.id'))
        || ',"name":' || coalesce(to_json(name)::text, missing_property('Pet.name'))
        || ',"categoryId":' || coalesce(category_id::text, missing_property('Pet.categoryId'))
        || ',"status":' || coalesce('"' || status || '"', missing_property('Pet.status'))
        || '}'
      ORDER BY id
    ) AS pets
  FROM (
    SELECT *
    FROM pets
    WHERE id > after
    ORDER BY id
    LIMIT size + 1
  ) AS pet
) AS found
ORDER BY ordinal;

PREPARE "pages-of-status" AS
SELECT
  convert_to(
    '[' || coalesce(array_to_string(found.pets[:size], ','), '') || ']',
    'UTF8'
  ) AS pets,
  CASE WHEN cardinality(found.pets) > size THEN found.ids[size] END AS next
FROM unnest(
  (SELECT $1::text[]::text[]),
  (SELECT $2::text[]::bigint[]),
  (SELECT $3::text[]::integer[])
) WITH ORDINALITY AS input (status, after, size, ordinal)
CROSS JOIN LATERAL (
  SELECT
    array_agg(id ORDER BY id) AS ids,
    array_agg(
      '{"id":' || coalesce(id::text, missing_property('Pet.id'))
        || ',"name":' || coalesce(to_json(name)::text, missing_property('Pet.name'))
        || ',"categoryId":' || coalesce(category_id::text, missing_property('Pet.categoryId'))
        || ',"status":' || coalesce('"' || status || '"', missing_property('Pet.status'))
        || '}'
      ORDER BY id
    ) AS pets
  FROM (
    SELECT *
    FROM pets
    WHERE (pets.status, id) > (input.status, after)
      AND pets.status <= input.status
    ORDER BY pets.status, id
    LIMIT size + 1
  ) AS pet
) AS found
ORDER BY ordinal;

-- POST /pets

PREPARE "create-pets" AS
WITH input AS (
  SELECT *
  FROM unnest(
    (SELECT $1::text[]::text[]),
    (SELECT $2::text[]::bigint[]),
    (SELECT $3::text[]::text[])
  ) WITH ORDINALITY AS input (name, category_id, status, ordinal)
),
checked AS MATERIALIZED (
  SELECT
    input.*,
    CASE
      WHEN locked.id IS NOT NULL THEN NULL
      WHEN category.id IS NOT NULL THEN 'locked'
      ELSE 'invalid'
    END AS obstacle
  FROM input
  LEFT JOIN lock_categories(ARRAY(SELECT category_id FROM input))
    AS locked (id) ON locked.id = category_id
  LEFT JOIN LATERAL (
    SELECT id
    FROM categories
    WHERE id = category_id
    LIMIT 1
  ) AS category ON true
),
numbered AS (
  SELECT
    CASE WHEN obstacle IS NULL THEN nextval('pets_id_seq') END AS id,
    checked.*
  FROM checked
  ORDER BY ordinal
),
new_row AS (
  SELECT
    *,
    CASE WHEN obstacle IS NULL THEN
      '{"id":' || coalesce(id::text, missing_property('Pet.id'))
        || ',"name":' || coalesce(to_json(name)::text, missing_property('Pet.name'))
        || ',"categoryId":' || coalesce(category_id::text, missing_property('Pet.categoryId'))
        || ',"status":' || coalesce('"' || status || '"', missing_property('Pet.status'))
        || '}'
    END AS response
  FROM numbered
),
stored AS (
  INSERT INTO pets (id, name, category_id, status)
  SELECT id, name, category_id, status
  FROM new_row
  WHERE response IS NOT NULL
  ORDER BY ordinal
  RETURNING id
)
SELECT
  ordinal::integer,
  CASE
    WHEN stored.id IS NOT NULL THEN 'created'
    WHEN response IS NOT NULL THEN missing_row('pets')
    ELSE obstacle
  END AS outcome,
  response
FROM new_row
LEFT JOIN stored ON stored.id = new_row.id
ORDER BY ordinal;

PREPARE "create-pets-once" AS
WITH request AS (
  SELECT *
  FROM unnest(
    (SELECT $1::text[]::text[]),
    (SELECT $2::text[]::bigint[]),
    (SELECT $3::text[]::text[]),
    (SELECT $4::text[]::bytea[]),
    (SELECT $5::text[]::bytea[])
  ) WITH ORDINALITY AS input (name, category_id, status, key, fingerprint, ordinal)
),
input AS MATERIALIZED (
  SELECT
    request.*,
    record.fingerprint AS recorded_fingerprint,
    record.response AS recorded_response,
    CASE
      WHEN record.response IS NOT NULL THEN false
      WHEN row_number() OVER same_key > 1 THEN false
      ELSE pg_try_advisory_xact_lock(
        hashtextextended(encode(key, 'hex'), 0)
      )
    END AS may_claim
  FROM request
  LEFT JOIN LATERAL (
    SELECT
      fingerprint,
      response,
      pg_logical_emit_message(true, 'idempotency-key', '')
    FROM idempotency_keys
    WHERE idempotency_keys.key = request.key
    LIMIT 1
  ) AS record ON true
  WINDOW same_key AS (PARTITION BY key ORDER BY ordinal)
),
checked AS MATERIALIZED (
  SELECT
    input.*,
    CASE
      WHEN locked.id IS NOT NULL THEN NULL
      WHEN category.id IS NOT NULL THEN 'locked'
      ELSE 'invalid'
    END AS obstacle
  FROM input
  LEFT JOIN lock_categories(ARRAY(SELECT category_id FROM input))
    AS locked (id) ON locked.id = category_id
  LEFT JOIN LATERAL (
    SELECT id
    FROM categories
    WHERE id = category_id
    LIMIT 1
  ) AS category ON true
),
numbered AS (
  SELECT
    CASE WHEN obstacle IS NULL AND may_claim THEN nextval('pets_id_seq') END AS id,
    checked.*
  FROM checked
  ORDER BY ordinal
),
new_row AS (
  SELECT
    *,
    CASE WHEN obstacle IS NULL AND may_claim THEN
      '{"id":' || coalesce(id::text, missing_property('Pet.id'))
        || ',"name":' || coalesce(to_json(name)::text, missing_property('Pet.name'))
        || ',"categoryId":' || coalesce(category_id::text, missing_property('Pet.categoryId'))
        || ',"status":' || coalesce('"' || status || '"', missing_property('Pet.status'))
        || '}'
    END AS response
  FROM numbered
),
claimed AS (
  INSERT INTO idempotency_keys (key, fingerprint, response)
  SELECT key, fingerprint, response
  FROM new_row
  WHERE response IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING key, fingerprint, response
),
stored AS (
  INSERT INTO pets (id, name, category_id, status)
  SELECT id, name, category_id, status
  FROM new_row
  WHERE may_claim AND key IN (SELECT key FROM claimed)
  ORDER BY ordinal
  RETURNING id
),
known AS (
  SELECT
    new_row.id,
    ordinal,
    obstacle,
    new_row.fingerprint,
    may_claim AND claimed.key IS NOT NULL AS has_claimed,
    coalesce(recorded_fingerprint, claimed.fingerprint)
      AS known_fingerprint,
    coalesce(recorded_response, claimed.response) AS response
  FROM new_row
  LEFT JOIN claimed ON claimed.key = new_row.key
)
SELECT
  ordinal::integer,
  CASE
    WHEN stored.id IS NOT NULL THEN 'created'
    WHEN has_claimed THEN missing_row('pets')
    WHEN fingerprint = known_fingerprint THEN 'replayed'
    WHEN known_fingerprint IS NOT NULL THEN 'reused'
    WHEN obstacle IS NOT NULL THEN obstacle
    ELSE 'held'
  END AS outcome,
  response
FROM known
LEFT JOIN stored ON stored.id = known.id
ORDER BY ordinal;

-- GET /pets/{petId}

PREPARE "pets-by-id" AS
SELECT found.pet
FROM unnest(
  (SELECT $1::text[]::bigint[])
) WITH ORDINALITY AS input (id, ordinal)
LEFT JOIN LATERAL (
  SELECT
    '{"id":' || coalesce(id::text, missing_property('Pet.id'))
      || ',"name":' || coalesce(to_json(name)::text, missing_property('Pet.name'))
      || ',"categoryId":' || coalesce(category_id::text, missing_property('Pet.categoryId'))
      || ',"status":' || coalesce('"' || status || '"', missing_property('Pet.status'))
      || '}'
    AS pet
  FROM pets
  WHERE pets.id = input.id
  LIMIT 1
) AS found ON true
ORDER BY ordinal;

-- GET /store/orders

PREPARE "page-of-orders" AS
SELECT
  CASE WHEN $2 = 1 OR octet_length(items) <= 262144
    THEN items
  END AS items,
  octet_length(items) AS size,
  count,
  nulls,
  "lastId"
FROM (
  SELECT
    coalesce(string_agg(',' || json, ''), '') AS items,
    count(*)::integer AS count,
    (count(*) - count(json))::integer AS nulls,
    CASE count(*) WHEN $2 THEN max(id)::text END AS "lastId"
  FROM (
    SELECT id, '{"id":' || coalesce(id::text, missing_property('Order.id'))
      || ',"petId":' || coalesce(pet_id::text, missing_property('Order.petId'))
      || ',"quantity":' || coalesce(quantity::text, missing_property('Order.quantity'))
      || coalesce(',"shipDate":' || '"' || to_char(ship_date AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', '')
      || ',"complete":' || coalesce(complete::text, missing_property('Order.complete'))
      || '}' AS json
    FROM orders
    WHERE id > coalesce($1::bigint, -9223372036854775808)
    ORDER BY id
    LIMIT $2
  ) AS item
) AS page;

-- DELETE /store/orders/{orderId}

PREPARE "cancel-order" AS
DELETE FROM orders
WHERE id = $1
  AND NOT complete
  AND (ship_date IS NULL OR ship_date > now())
RETURNING id;

PREPARE "order-by-id" AS
SELECT
FROM orders
WHERE id = $1;
