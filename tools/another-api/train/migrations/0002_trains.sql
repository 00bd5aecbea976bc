CREATE TABLE stations (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  address text NOT NULL,
  country_code text NOT NULL,
  timezone text
);

CREATE TABLE trips (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  origin uuid NOT NULL REFERENCES stations,
  destination uuid NOT NULL REFERENCES stations,
  departure_time timestamptz(3) NOT NULL,
  arrival_time timestamptz(3) NOT NULL,
  operator text,
  price numeric,
  bicycles_allowed boolean,
  dogs_allowed boolean
);

CREATE TABLE bookings (
  id uuid PRIMARY KEY,
  trip_id uuid NOT NULL REFERENCES trips,
  passenger_name text NOT NULL,
  has_bicycle boolean,
  has_dog boolean
);

CREATE TABLE payments (
  id uuid PRIMARY KEY,
  booking_id uuid NOT NULL REFERENCES bookings ON DELETE CASCADE,
  amount numeric NOT NULL,
  currency text NOT NULL,
  source jsonb NOT NULL,
  status text NOT NULL DEFAULT 'succeeded',
  UNIQUE (booking_id, amount)
);

CREATE FUNCTION hide_source() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.source := NEW.source - '{cvc,address_line1,address_line2}'::text[]
    || jsonb_build_object('number', '*' || right(NEW.source ->> 'number', 4));
  RETURN NEW;
END $$;

CREATE TRIGGER hide_source BEFORE INSERT ON payments
FOR EACH ROW EXECUTE FUNCTION hide_source();
