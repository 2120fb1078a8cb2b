-- Keeps a stream of the bus within its bounds: the oldest entries leave first.
local function remove_oldest(stream, counts, most_entries, most_bytes, most_age_ms)
  local now = redis.call('TIME')
  local oldest = now[1] * 1000 + math.floor(now[2] / 1000) - tonumber(most_age_ms)
  local count = tonumber(redis.call('HGET', counts, 'entries') or '0')
  local bytes = tonumber(redis.call('HGET', counts, 'bytes') or '0')
  local removed, look = 0, 1
  while true do
    local gone = {}
    -- Mostly nothing leaves: only when the oldest does are more looked at.
    for _, entry in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', look)) do
      local born = tonumber(string.match(entry[1], '^%d+'))
      if count <= tonumber(most_entries) and bytes <= tonumber(most_bytes) and born >= oldest then
        break
      end
      gone[#gone + 1] = entry[1]
      count, bytes = count - 1, bytes - #entry[2][8]
    end
    if #gone == 0 then
      break
    end
    redis.call('XDEL', stream, unpack(gone))
    removed, look = removed + #gone, 50
  end
  if removed > 0 then
    redis.call('HSET', counts, 'entries', count, 'bytes', bytes)
    redis.call('HINCRBY', counts, 'removed', removed)
  end
  return removed
end
