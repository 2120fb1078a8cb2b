-- Pins a session to a project and its root, unless it is pinned already.
-- KEYS: 1 the session's place. ARGV: 1 project, 2 root, 3 seconds that it is kept.
-- Returns {project, root} of the pin. A later other project is kept as `other`, for people to see.
local place = redis.call('HMGET', KEYS[1], 'project', 'root')
if not place[1] then
  redis.call('HSET', KEYS[1], 'project', ARGV[1], 'root', ARGV[2])
  place = {ARGV[1], ARGV[2]}
elseif place[1] ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'other', ARGV[1])
end
redis.call('EXPIRE', KEYS[1], ARGV[3])
return place
