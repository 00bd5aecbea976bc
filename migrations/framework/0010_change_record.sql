-- Closes two ways in which a list could stay old for ever. How lists use the
-- record of changes: src/framework/lists/change-check.ts.

-- 1. Logical replication fires no statement triggers, except for TRUNCATE.
-- record_replicated_change is a row trigger for what it applies. ENABLE REPLICA
-- spares ordinary writers its cost.

-- Records all changes of a table. Call it for each table that the service
-- lists, and again after `pg_restore --disable-triggers`.
CREATE PROCEDURE record_changes_of(watched regclass) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('
    CREATE OR REPLACE TRIGGER record_change
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
    EXECUTE FUNCTION record_change()', watched);
  EXECUTE format('
    ALTER TABLE %s ENABLE ALWAYS TRIGGER record_change', watched);

  EXECUTE format('
    CREATE OR REPLACE TRIGGER record_replicated_change
    AFTER INSERT OR UPDATE OR DELETE ON %s
    FOR EACH ROW EXECUTE FUNCTION record_change()', watched);
  EXECUTE format('
    ALTER TABLE %s ENABLE REPLICA TRIGGER record_replicated_change', watched);
END $$;

-- 2. A restored dump brings rows whose ids are in the future here. A
-- transaction that gets such an id finds its row and adds none. So the row must
-- stay until this transaction has ended, and means nothing before.

-- Whether a recorded transaction is visible now but was not in the earlier
-- snapshot. A long transaction holds back the xmin of a snapshot, so the index
-- is searched from xmax, and for each transaction that was in progress.
-- enable_seqscan: a plan made while the table is small must not scan it once it
-- has grown.
CREATE OR REPLACE FUNCTION changed_since(relation oid, earlier pg_snapshot)
RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM changes
    WHERE changes.relation = changed_since.relation
      AND xid >= pg_snapshot_xmax(earlier)
      AND xid < pg_snapshot_xmax(pg_current_snapshot())
    UNION ALL
    SELECT FROM changes
    WHERE changes.relation = changed_since.relation
      AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(earlier)))
  );
END $$;

-- As in 0006. With pg_temp last, a caller's temporary table cannot replace the
-- tables.
SELECT set_config(
  'search_path', format('%I, pg_temp', current_schema()), true
);

-- Deletes the rows of transactions that have ended, once there are 10,000, and
-- changes the epoch in the same transaction. A reader sees either the new
-- epoch, and reads the list again, or still the rows. The transaction must be
-- short, because it locks the epoch.
CREATE OR REPLACE FUNCTION prune_changes() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  now pg_snapshot := pg_current_snapshot();
BEGIN
  IF NOT EXISTS (SELECT FROM change_epoch) THEN
    -- A crash has emptied both tables, and so lost the rows of prepared
    -- transactions. Without an epoch, lists are read each time: there must be
    -- none until those transactions have ended.
    IF EXISTS (
      SELECT FROM pg_prepared_xacts WHERE database = current_database()
    ) THEN
      RETURN;
    END IF;
  ELSIF NOT EXISTS (
    SELECT FROM changes WHERE pg_visible_in_snapshot(xid, now) OFFSET 9999
  ) THEN
    RETURN;
  END IF;

  INSERT INTO change_epoch DEFAULT VALUES
  ON CONFLICT (singleton) DO UPDATE SET id = excluded.id;

  -- As many as take a fraction of a second.
  DELETE FROM changes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM changes
    WHERE pg_visible_in_snapshot(xid, now)
    LIMIT 100000
  ));
END $$;

-- They run with the rights of the owner. A trigger needs no right to call its
-- function.
REVOKE ALL ON FUNCTION prune_changes() FROM PUBLIC;
REVOKE ALL ON FUNCTION record_change() FROM PUBLIC;
