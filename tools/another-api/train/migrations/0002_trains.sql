CREATE TABLE stations (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  timezone text
);

CREATE TABLE bookings (
  id uuid PRIMARY KEY,
  station_id uuid NOT NULL REFERENCES stations,
  passenger_name text NOT NULL,
  has_dog boolean
);
