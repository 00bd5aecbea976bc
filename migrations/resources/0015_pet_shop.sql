-- What 0006, 0009 and 0010 contained of the pet shop up to version 1.0.0. Since
-- then, the migrations of the framework need no tables of an API. A database
-- that has those migrations has all of this already, and does not change.

CALL record_changes_of('categories');
CALL record_changes_of('orders');

-- The function keeps this search_path by FROM CURRENT. With pg_temp last, a
-- caller's temporary table cannot replace the tables.
SELECT set_config(
  'search_path', format('%I, pg_temp', current_schema()), true
);

-- Locks those of the categories that exist and that no other transaction has
-- locked, so that they still exist at the commit, and returns their ids. The
-- foreign key alone would wait for a locked one, and with it a whole group of
-- creates. The service's role may not lock categories itself: that needs the
-- privilege to change them. enable_seqscan: a plan made while the table is
-- small must not scan it once it has grown.
CREATE OR REPLACE FUNCTION lock_categories(ids bigint[]) RETURNS SETOF bigint
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
