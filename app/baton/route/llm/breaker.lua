-- Counts calls of a service that a breaker guards, and gives all that is known of it.
-- KEYS: 1 the breaker's hash: `s` its state, `b` its buckets [at, calls, slow, failed].
-- ARGV: 1 calls to count (0 only looks), 2 slow, 3 failed, 4 window, 5 calls of a full bucket, 6 seconds of a bucket,
--       7 lifetime in s.
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local calls, slow, failed = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local known = redis.call('HMGET', KEYS[1], 's', 'b')
local text = known[2] or '[]'
if calls > 0 then
  local buckets = cjson.decode(text)
  local last = buckets[#buckets]
  if not last or now >= last[1] + tonumber(ARGV[6]) or last[2] >= tonumber(ARGV[5]) then
    buckets[#buckets + 1] = {now, calls, slow, failed}
  else
    last[2], last[3], last[4] = last[2] + calls, last[3] + slow, last[4] + failed
  end
  local total = 0
  for _, bucket in ipairs(buckets) do total = total + bucket[2] end
  while total - buckets[1][2] >= tonumber(ARGV[4]) do
    total = total - table.remove(buckets, 1)[2]
  end
  text = cjson.encode(buckets)
  redis.call('HSET', KEYS[1], 'b', text)
  redis.call('EXPIRE', KEYS[1], ARGV[7])
end
return {string.format('%.6f', now), known[1] or '', text}
