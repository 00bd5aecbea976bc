-- The text of a number as JSON, which has neither NaN nor Infinity. The
-- statements of creates and lists call it (generated/statements.sql).
CREATE FUNCTION finite_number(property text, number text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1 AS $$
BEGIN
  IF number IN ('NaN', 'Infinity', '-Infinity') THEN
    RAISE '% must be a finite number, not %', property, number
      USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RETURN number;
END $$;
