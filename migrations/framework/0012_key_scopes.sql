-- What an API key may do, such as {categories:read}. NULL is everything, also
-- what later versions add: the value of every key that was created before.
--
-- Version 1.0.0 does not read this column. Create keys with scopes when no
-- replica of 1.0.0 runs any more.
ALTER TABLE api_keys
  ADD COLUMN scopes text[] CHECK (cardinality(scopes) > 0);
