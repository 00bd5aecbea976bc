-- What wrk sends: the requests of REQUESTS, one after the other.
local requests = loadstring(os.getenv('REQUESTS'))()
local sent = 0
local formatted = {}

-- Not before: wrk.format adds Host, which wrk knows only now.
function init()
  for index, one in ipairs(requests) do
    formatted[index] = wrk.format(one.method, one.path, one.headers, one.body)
  end
end

function request()
  sent = sent + 1
  return formatted[sent % #formatted + 1]
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format(
    'SUMMARY {"requests":%d,"duration":%d,"errors":%d,"p50":%d,"p99":%d}',
    summary.requests, summary.duration, failed + errors.status,
    latency:percentile(50), latency:percentile(99)
  ))
end
