-- Functions that the statements of creates and lists call
-- (generated/statements.sql).

-- In place of a required property that is NULL. It is volatile, because
-- PostgreSQL would call an immutable function when it plans the statement.
CREATE FUNCTION missing_property(property text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE COST 1 AS $$
BEGIN
  RAISE '% must not be null', property USING ERRCODE = 'null_value_not_allowed';
END $$;

-- In place of a row that a trigger has dropped.
CREATE FUNCTION missing_row(relation text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE COST 1 AS $$
BEGIN
  RAISE 'a row was not stored in the table %: a trigger dropped it', relation;
END $$;

-- The functions keep this search_path by FROM CURRENT. With pg_temp last, a
-- caller's temporary table cannot replace the tables.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Locks those of the categories that exist and that no other transaction has
-- locked, so that they still exist at the commit, and returns their ids. The
-- foreign key alone would wait for a locked one, and with it a whole group of
-- creates. The service's role may not lock categories itself: that needs the
-- privilege to change them. enable_seqscan: a plan made while the table is
-- small must not scan it once it has grown.
CREATE FUNCTION lock_categories(ids bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 10
SET search_path FROM CURRENT SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY
    SELECT id
    FROM categories
    WHERE id = ANY (ids)
    FOR KEY SHARE SKIP LOCKED;
END $$;

-- It runs with the rights of the owner.
REVOKE ALL ON FUNCTION lock_categories(bigint[]) FROM PUBLIC;
