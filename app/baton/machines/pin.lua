-- Pins a session to a project and its root, unless it is pinned already.
-- KEYS: 1 the session's place. ARGV: 1 project, 2 root, 3 seconds that it is kept, 4 what the session's start reported.
-- Returns {project, root, reported} of the pin. A later other project is kept as `other`, for people to see.
local place = redis.call('HMGET', KEYS[1], 'project', 'root', 'reported')
if not place[1] then
  place = {ARGV[1], ARGV[2], ARGV[4]}
elseif place[1] ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'other', ARGV[1])
else
  place[3] = ARGV[4]
end
redis.call('HSET', KEYS[1], 'project', place[1], 'root', place[2] or '', 'reported', place[3] or '{}')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {place[1], place[2] or '', place[3] or '{}'}
