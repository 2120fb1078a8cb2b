-- Returns the advisories that wait for a session's prompt and forgets them, in one step: no other prompt gets them.
-- KEYS: 1 the list of them, each its pattern's id, a line's end and its text; 2 when the last was added.
-- ARGV: 1 now in seconds. After more than `stale_s` none are returned.
local at = redis.call('GET', KEYS[2])
if not at then
  return {}
end
local found = redis.call('LRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1], KEYS[2])
if tonumber(ARGV[1]) - tonumber(at) > stale_s then
  return {}
end
return found
