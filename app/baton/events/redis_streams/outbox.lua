-- Puts entries into the outbox of events while there is room for them; what does not fit is counted.
-- `keys`: the stream, the count of its bytes, the count of what was dropped. `entries`: from `first` on, those to put.
local function put_events(keys, entries, first)
  local length = redis.call('XLEN', keys[1])
  local bytes = tonumber(redis.call('GET', keys[2]) or '0')
  local dropped = 0
  for i = first, #entries do
    local size = #entries[i]
    -- The newest are refused: what the outbox has taken once is never thrown away.
    if length >= MOST_ENTRIES or bytes + size > MOST_BYTES then
      dropped = dropped + 1
    else
      redis.call('XADD', keys[1], '*', 'e', entries[i])
      length, bytes = length + 1, bytes + size
    end
  end
  redis.call('SET', keys[2], bytes)
  if dropped > 0 then
    redis.call('INCRBY', keys[3], dropped)
  end
  return dropped
end
