-- How creates claim an Idempotency-Key (src/framework/creates/insert-once.ts), for one
-- key, on a primary and its synchronous standby. Keys do not expire.
--
-- Mutants: see changes.als.

-- A statement of any replica that has the key: a first request, an attempt
-- after 'held', or a request that a client sends again.
sig Attempt {
  -- The attempt whose row the client has got as the response.
  var response: lone Attempt
}

var sig Begun in Attempt {}
-- Those in progress: each has its snapshot.
var sig Running in Begun {}
-- Those with a record of the key in their snapshot.
var sig Replaying in Running {}
-- Those that have the advisory lock: key_state = 'claimable'.
var sig Locking in Running {}
-- Those that have inserted the key and the row.
var sig Claiming in Locking {}
-- Those whose rows statements can see, and those that the standby has.
var sig Visible, OnStandby in Begun {}

pred staysBut[ending: Attempt] {
  Begun' = Begun
  Running' = Running - ending
  Replaying' = Replaying - ending
  Locking' = Locking - ending
  Claiming' = Claiming - ending
}
pred rowsStay {
  Visible' = Visible
  OnStandby' = OnStandby
}

pred nothing {
  staysBut[none] and rowsStay
  response' = response
}

pred begin[a: Attempt] {
  a not in Begun
  Begun' = Begun + a
  Running' = Running + a
  Replaying' = Replaying + (some Visible implies a else none)
  Locking' = Locking
  Claiming' = Claiming
  rowsStay
  response' = response
}

-- pg_try_advisory_xact_lock().
pred lock[a: Attempt] {
  a in Running - Replaying - Locking
  no Locking
    -- mutant no-advisory-lock (NoStatementWaits): no none
  Locking' = Locking + a
  Begun' = Begun
  Running' = Running
  Replaying' = Replaying
  Claiming' = Claiming
  rowsStay
  response' = response
}

-- INSERT … ON CONFLICT DO NOTHING, and the row of a key that it has inserted.
pred claim[a: Attempt] {
  a in Locking - Claiming
  not waits[a]
  no Visible
    -- mutant row-without-its-key (AKeyHasOneRow): no none
  Claiming' = Claiming + a
  Begun' = Begun
  Running' = Running
  Replaying' = Replaying
  Locking' = Locking
  rowsStay
  response' = response
}

-- The INSERT waits while another transaction has inserted the key.
pred waits[a: Attempt] {
  a in Locking and some Claiming - a
}

-- The standby receives a commit, of which it may not have told the primary.
pred receive[a: Attempt] {
  a in Claiming + Visible - OnStandby
  OnStandby' = OnStandby + a
  Visible' = Visible
  staysBut[none]
  response' = response
}

-- The client gets the response, or has lost its connection.
pred mayRespond[a, row: Attempt] {
  response' = response + a->row or response' = response
}

pred commit[a: Attempt] {
  a in Claiming
  Visible' = Visible + a
  OnStandby' = OnStandby
  staysBut[a]
  a in OnStandby
    -- mutant created-despite-cancellation (AResponseIsStored): a in Claiming
    implies mayRespond[a, a]
    else response' = response
}

-- Its WAL message makes it wait for the standby, which then has the record.
pred replay[a: Attempt] {
  a in Replaying
  Visible in OnStandby
    -- mutant no-wal-message (AResponseIsStored): no none
  staysBut[a] and rowsStay
  mayRespond[a, Visible]
}

-- It is 'held', fails, or loses its connection.
pred fail[a: Attempt] {
  a in Running and a not in OnStandby
  staysBut[a] and rowsStay
  response' = response
}

-- The standby becomes the primary. Its own standby has all that it has.
pred promote {
  Visible' = OnStandby
  OnStandby' = OnStandby
  staysBut[Running]
  response' = response
}

fact history {
  no Begun and no response
  always {
    nothing or promote
    or (some a: Attempt |
      begin[a] or lock[a] or claim[a] or receive[a] or commit[a]
      or replay[a] or fail[a])
  }
}

-- What must hold -------------------------------------------------------------

assert AKeyHasOneRow { always lone Visible }

-- Now and after each failover.
assert AResponseIsStored { always Attempt.response in Visible }

assert AllResponsesAreEqual { always lone Attempt.response }

-- It would delay its whole group.
assert NoStatementWaits { always no a: Attempt | waits[a] }

check AKeyHasOneRow for 3 but 10 steps
check AResponseIsStored for 3 but 10 steps
check AllResponsesAreEqual for 3 but 10 steps
check NoStatementWaits for 3 but 10 steps

-- What can happen ------------------------------------------------------------

run AReplayAfterAPromotion {
  eventually (promote and some Visible and no response
    and eventually some response)
} for 3 but 10 steps
run ASecondClaimAfterALostOne {
  eventually (promote and some Visible and no Visible'
    and eventually some response)
} for 3 but 12 steps
