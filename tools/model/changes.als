-- The record of changes (migrations/framework/0006_changes.sql, 0010_change_record.sql)
-- and the check of a cached list (src/framework/lists/change-check.ts), for one table.
--
-- A line "mutant NAME" is a fault: it replaces the line above it. check.ts
-- proves that NoListLacksACommit, or the check in parentheses, finds each one.

open util/ordering[Xid]

-- Transaction ids, in the order in which PostgreSQL assigns them.
sig Xid {}

-- What the identity of a check consists of. DDL is not part of the model.
sig Epoch, Start, File {}

-- A transaction is more than its id: ids repeat after a crash.
sig Transaction { xid: Xid }

-- The transactions of the server.
var sig Assigned in Xid {}
var sig Open in Transaction {}
var sig Prepared in Open {}
-- Those that have changed the table.
var sig Writing in Open {}
-- Those whose changes of the table a statement sees from now on. They are
-- acknowledged afterwards, never before.
var sig Visible in Transaction {}

-- The rows of `changes`: those that transactions added for themselves, and
-- those that a dump brought, which every statement sees.
var sig Recorded in Transaction {}
var sig Restored in Xid {}

one sig Server {
  var change_epoch: lone Epoch,
  var postmaster_start_time: one Start,
  var relation_filepath: one File
}

-- A ChangeCheck and the CachedList that uses it.
sig Replica {
  -- #last.snapshot: the ids below its xmax, and those of them in progress.
  var below_xmax: set Xid,
  var xip: set Xid,
  -- #last.identity: none if it is undefined.
  var identity: set Epoch + Start + File,
  -- #kept.list: the transactions that it shows.
  var list: set Transaction
}
-- Those that have a kept list, and those that have to read one.
var sig Cached, Reading in Replica {}

-- Snapshots ------------------------------------------------------------------

fun ended: set Xid { Assigned - Open.xid }

-- pg_snapshot_xmax is one more than the highest id that has ended.
fun below_xmax_now: set Xid { ended + ended.prevs }

fun visible_rows: set Xid { (Recorded & Visible).xid + Restored }

fun identity_now: set Epoch + Start + File {
  Server.change_epoch
  + Server.postmaster_start_time
    -- mutant no-start-time: + none
  + Server.relation_filepath
    -- mutant no-file-path: + none
}

pred changed_since[r: Replica] {
  some (visible_rows - r.below_xmax)
    & below_xmax_now
    -- mutant restored-ids-of-the-future (NoListIsReadInVain): & Xid
  or some visible_rows
    & r.xip
    -- mutant search-from-xmax-only: & none
    -- mutant search-from-xmin (NoListIsReadInVain): & r.xip.*next
}

pred hasChanged[r: Replica] {
  no Server.change_epoch
  or no r.identity
  or r.identity != identity_now
    -- mutant no-epoch: or r.identity - Epoch != identity_now - Epoch
  or changed_since[r]
}

-- What happens ---------------------------------------------------------------

pred serverStays {
  Assigned' = Assigned
  Open' = Open
  Prepared' = Prepared
  Writing' = Writing
  Visible' = Visible
}
pred recordStays {
  Recorded' = Recorded
  Restored' = Restored
  change_epoch' = change_epoch
}
pred identityStays {
  postmaster_start_time' = postmaster_start_time
  relation_filepath' = relation_filepath
}
pred replicasStay {
  below_xmax' = below_xmax
  xip' = xip
  identity' = identity
  list' = list
  Cached' = Cached
  Reading' = Reading
}

pred nothing {
  serverStays and recordStays and identityStays and replicasStay
}

-- It gets its id, and its first statement may not be a change of the table.
pred begin[t: Transaction] {
  t not in Open + Visible + Replica.list
  t.xid not in Assigned and t.xid.prevs in Assigned
  Assigned' = Assigned + t.xid
  Open' = Open + t
  Prepared' = Prepared
  Writing' = Writing
  Visible' = Visible
  recordStays and identityStays and replicasStay
}

-- It changes the table, and record_change() adds a row ON CONFLICT DO NOTHING.
pred write[t: Transaction] {
  t in Open - Prepared - Writing
  Writing' = Writing + t
  Recorded' = Recorded + (t - xid.Restored)
  Assigned' = Assigned
  Open' = Open
  Prepared' = Prepared
  Visible' = Visible
  Restored' = Restored
  change_epoch' = change_epoch
  identityStays and replicasStay
}

pred prepare[t: Transaction] {
  t in Open - Prepared
  Prepared' = Prepared + t
  Assigned' = Assigned
  Open' = Open
  Writing' = Writing
  Visible' = Visible
  recordStays and identityStays and replicasStay
}

pred end[t: Transaction] {
  t in Open
  Open' = Open - t
  Prepared' = Prepared - t
  Writing' = Writing - t
  Assigned' = Assigned
  Restored' = Restored
  change_epoch' = change_epoch
  identityStays and replicasStay
}
pred commit[t: Transaction] {
  end[t]
  Visible' = Visible + (t & Writing)
  Recorded' = Recorded
}
pred abort[t: Transaction] {
  end[t]
  Visible' = Visible
  Recorded' = Recorded - t
}

-- hasChanged(): starts after its requests have arrived (src/framework/batch.ts).
pred checks[r: Replica] {
  r not in Reading
  r.below_xmax' = below_xmax_now
  r.xip' = below_xmax_now & Open.xid
  some Server.change_epoch
    implies r.identity' = identity_now
    else no r.identity'
  r in Cached and not hasChanged[r]
    implies Cached' = Cached and Reading' = Reading
    else Cached' = Cached - r and Reading' = Reading + r
    -- mutant list-kept-while-reading: else Cached' = Cached and Reading' = Reading + r
  r.list' = r.list
  othersStay[r]
}

-- The list of a replica that has found a change.
pred reads[r: Replica] {
  r in Reading
  r.list' = Visible
  Cached' = Cached + r
  Reading' = Reading - r
  r.below_xmax' = r.below_xmax
  r.xip' = r.xip
  r.identity' = r.identity
  othersStay[r]
}

-- A statement fails, as in a crash.
pred failsToRead[r: Replica] {
  r in Reading
  Reading' = Reading - r
  Cached' = Cached
  below_xmax' = below_xmax
  xip' = xip
  identity' = identity
  list' = list
  serverStays and recordStays and identityStays
}

pred othersStay[r: Replica] {
  all other: Replica - r {
    other.below_xmax' = other.below_xmax
    other.xip' = other.xip
    other.identity' = other.identity
    other.list' = other.list
  }
  serverStays and recordStays and identityStays
}

-- A random or later value: no server and no replica has had it.
pred isNew[part: Epoch + Start + File] {
  part not in identity_now + Replica.identity
}

-- prune_changes(). How many rows it needs and deletes is left open.
pred prune {
  some Server.change_epoch or no Prepared
    -- mutant epoch-despite-prepared: some Server.change_epoch or no none
  some change_epoch' and isNew[Server.change_epoch']
    -- mutant prune-without-epoch: some change_epoch implies change_epoch' = change_epoch else some change_epoch' and isNew[Server.change_epoch']
  Recorded' in Recorded and Recorded - Recorded' in Visible
  Restored' in Restored and Restored - Restored' in ended
    -- mutant prune-of-0006: Restored' in Restored
  serverStays and identityStays and replicasStay
}

-- Recovery keeps all ids up to that of the last transaction that it finds in
-- the WAL, and empties the unlogged tables.
pred recover {
  Assigned' in Assigned and (Open' + Visible').xid in Assigned'
  Assigned'.prevs in Assigned'
  Open' = Prepared'
  no Recorded' and no Restored' and no change_epoch'
    -- mutant logged-tables: Recorded' = Recorded & (Visible' + Open') and Restored' = Restored and change_epoch' = change_epoch
  replicasStay
}

-- A backend is killed: the postmaster and its start time stay.
pred crash {
  recover
  Visible' = Visible
  Prepared' = Prepared
  Writing' = Writing & Prepared
  identityStays
}

-- A standby is promoted, or a machine fails that does not wait for its disk.
-- Any commits are lost; a transaction may still be prepared there.
pred promote {
  recover
  Visible' in Visible
  Prepared' in Prepared + Visible - Visible'
  Writing' = Prepared' & (Writing + Visible)
  isNew[Server.postmaster_start_time']
  relation_filepath' = relation_filepath
}

-- A server that was shut down starts, perhaps with an older copy of its data,
-- and so with an older epoch: then nothing is prepared in it.
pred start {
  Assigned' in Assigned and (Open' + Visible').xid in Assigned'
  Assigned'.prevs in Assigned'
  Visible' in Visible
  Prepared' in Prepared
  Open' = Prepared'
  Writing' = Writing & Prepared'
  Recorded' = Recorded & (Visible' + Prepared')
  Restored' = Restored
  change_epoch' = change_epoch or no Prepared'
  isNew[Server.postmaster_start_time']
  relation_filepath' = relation_filepath
  replicasStay
}

-- A dump, of any server and any time, becomes the database.
pred restore {
  Visible' in Visible
  no Recorded'
  no Writing'
  no Prepared'
  Assigned' = Assigned
  Open' = Open
  isNew[Server.relation_filepath']
  postmaster_start_time' = postmaster_start_time
  replicasStay
}

fact history {
  no Assigned and no Open and no Visible and no Recorded and no Restored
  no Cached and no Reading and no identity and no list
  no below_xmax and no xip
  some Server.change_epoch
  always {
    nothing or prune or crash or promote or start or restore
    or (some t: Transaction |
      begin[t] or write[t] or prepare[t] or commit[t] or abort[t])
    or (some r: Replica | checks[r] or reads[r] or failsToRead[r])
  }
}

-- What must hold -------------------------------------------------------------

-- A request that comes now gets the #list without reading it.
pred respondsFromCache[r: Replica] {
  r in Cached and not hasChanged[r]
}

-- A change is visible before it is acknowledged, so none is missing.
assert NoListLacksACommit {
  always all r: Replica | respondsFromCache[r] implies Visible in r.list
}

-- Not what a failover or a restored copy has lost.
assert NoListShowsALostCommit {
  always all r: Replica | respondsFromCache[r] implies r.list in Visible
}

-- Rows of a dump may cause a read each, once their ids are assigned.
assert NoListIsReadInVain {
  always all r: Replica {
    r in Cached and r.list = Visible and r.identity = identity_now
      and no Restored & Assigned
      and (Recorded & Visible).xid in r.below_xmax - r.xip
      implies not hasChanged[r]
  }
}

check NoListLacksACommit
  for 3 but 2 Replica, 10 steps
check NoListShowsALostCommit
  for 3 but 2 Replica, 10 steps
check NoListIsReadInVain
  for 3 but 2 Replica, 9 steps

-- What can happen ------------------------------------------------------------

-- A replica responds with a cached list that has a commit.
pred respondsWithACommit {
  some r: Replica | respondsFromCache[r] and some r.list
}

run ResponseAfterCrash {
  eventually (crash and eventually respondsWithACommit)
} for 3 but 1 Replica, 10 steps
run ResponseAfterPromotion {
  eventually (promote and Visible' != Visible and eventually respondsWithACommit)
} for 3 but 1 Replica, 10 steps
run ResponseAfterStart {
  eventually (start and Visible' != Visible and eventually respondsWithACommit)
} for 3 but 1 Replica, 10 steps
run ResponseAfterRestore {
  eventually (restore and some Restored' and eventually respondsWithACommit)
} for 3 but 1 Replica, 10 steps
run ResponseAfterPruning {
  eventually (prune and Recorded' != Recorded and eventually respondsWithACommit)
} for 3 but 1 Replica, 10 steps
run ResponsesWithARepeatedId {
  some disj earlier, later: Transaction {
    earlier.xid = later.xid
    eventually earlier in Open
    eventually (later in Replica.list and respondsWithACommit)
  }
} for 3 but 1 Replica, 10 steps
