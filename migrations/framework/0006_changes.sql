-- Records which transactions changed a table. The service reads a list again
-- only after a change (src/framework/lists). Both tables are unlogged: crash recovery and
-- promotion must empty them, because transaction ids can repeat afterwards.
CREATE UNLOGGED TABLE changes (relation oid, xid xid8, PRIMARY KEY (relation, xid));
CREATE UNLOGGED TABLE change_epoch (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton)
);
INSERT INTO change_epoch DEFAULT VALUES;

-- The functions keep this search_path by FROM CURRENT. With pg_temp last, a
-- caller's temporary table cannot replace these tables.
SELECT set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Only adds rows: writers do not wait for each other and do not fail, whatever
-- their isolation level and privileges.
CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO changes VALUES (TG_RELID, pg_current_xact_id()) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

-- Whether a recorded transaction is visible now but was not in the earlier
-- snapshot. The index is searched from xmax, and for each transaction that was
-- in progress: a long transaction holds back the xmin of a snapshot. Without
-- enable_seqscan = off, a plan made while the table was small would still scan
-- it after it has grown.
CREATE FUNCTION changed_since(relation oid, earlier pg_snapshot) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM changes WHERE changes.relation = changed_since.relation AND xid >= pg_snapshot_xmax(earlier)
    UNION ALL
    SELECT FROM changes
      WHERE changes.relation = changed_since.relation AND xid = ANY (ARRAY(SELECT pg_snapshot_xip(earlier)))
  );
END $$;

-- Deletes rows and changes the epoch in one transaction. A reader either sees
-- the new epoch and reads the list again, or it still sees the rows. The
-- transaction locks the epoch, so it must be short. It also prunes if a
-- restored dump brought ids that no transaction has had yet. A crash loses the
-- rows of prepared transactions: no epoch is created until those have ended.
CREATE FUNCTION prune_changes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF (CASE WHEN EXISTS (SELECT FROM change_epoch) THEN EXISTS (SELECT FROM changes OFFSET 9999)
      OR EXISTS (SELECT FROM changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))
    ELSE NOT EXISTS (SELECT FROM pg_prepared_xacts WHERE database = current_database()) END) THEN
    INSERT INTO change_epoch DEFAULT VALUES ON CONFLICT (singleton) DO UPDATE SET id = excluded.id;
    -- As many as take a fraction of a second.
    DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT ctid FROM changes LIMIT 100000));
  END IF;
END $$;
