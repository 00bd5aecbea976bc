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
