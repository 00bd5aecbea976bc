-- Sends one request again and again, by POST if there is a body. RANDOM9 in its
-- path or a header is a random number up to 9, another one each time.
local text, before, limit, after

function init(args)
  math.randomseed(os.time())
  wrk.body = args[1]
  if wrk.body then
    wrk.method = 'POST'
    wrk.headers['Content-Type'] = 'application/json'
  end
  text = wrk.format()
  before, limit, after = text:match('(.*)RANDOM(%d+)(.*)')
end

function request()
  return before and before .. math.random(limit) .. after or text
end

-- The last line of the output: responses per second.
function done(summary)
  local errors = summary.errors
  for kind, count in pairs(errors) do
    if count > 0 then error(kind .. ': ' .. count) end
  end
  print(math.max(1, math.floor(summary.requests / summary.duration * 1e6)))
end
