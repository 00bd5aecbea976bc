-- Deleting a category searches its pets, and deleting a pet its orders: by an
-- index instead of a scan of the whole table.
--
-- CREATE INDEX CONCURRENTLY is not possible, because all migrations run in one
-- transaction. Writers of pets and orders wait until the migration has ended.
CREATE INDEX pets_by_category ON pets (category_id);
CREATE INDEX orders_by_pet ON orders (pet_id);
