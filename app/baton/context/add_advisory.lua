-- Adds advisories to those that wait for a session's next prompt.
-- KEYS: 1 the list of them, each its pattern's id, a line's end and its text; 2 when the last was added.
-- ARGV: 1 now in seconds, then for each advisory its pattern's id ('' for none) and its text.
-- Of those about one pattern the first stays. The newest `most` are kept, for `kept_s`; what is older than `stale_s` goes.
local at = redis.call('GET', KEYS[2])
if at and tonumber(ARGV[1]) - tonumber(at) > stale_s then
  redis.call('DEL', KEYS[1])
end
local known = {}
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  known[string.match(entry, '^[^\n]*')] = true
end
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  if id == '' or not known[id] then
    known[id] = true
    redis.call('RPUSH', KEYS[1], id .. '\n' .. ARGV[i + 1])
  end
end
redis.call('LTRIM', KEYS[1], -most, -1)
redis.call('EXPIRE', KEYS[1], kept_s)
redis.call('SET', KEYS[2], ARGV[1], 'EX', kept_s)
return redis.call('LLEN', KEYS[1])
