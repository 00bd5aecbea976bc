-- What wrk sends: the lines of REQUESTS, one after the other.
local requests = os.getenv('REQUESTS')
local authorization = os.getenv('AUTHORIZATION')
local sent = 0
local formatted = {}

-- Not before: wrk.format adds Host, which wrk knows only now.
function init()
  for method, path, body in requests:gmatch('(%S+)\t(%S+)\t([^\n]*)\n') do
    local headers = { authorization = authorization }
    if body == '' then body = nil
    else headers['content-type'] = 'application/json' end
    table.insert(formatted, wrk.format(method, path, headers, body))
  end
end

function request()
  sent = sent + 1
  return formatted[sent % #formatted + 1]
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format(
    'SUMMARY {"requests":%d,"duration":%d,"errors":%d}',
    summary.requests, summary.duration, failed + errors.status
  ))
end
