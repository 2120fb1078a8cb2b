-- Counts one event of a session, once however often it is delivered: the newest two thousand ids are remembered.
-- KEYS: 1 the session's counts, 2 the ids. ARGV: 1 the event's id, 2 what it is (started, ran, failed), 3 its time in ms, 4 lifetime in s.
local ids = KEYS[2]
if redis.call('ZADD', ids, 'NX', ARGV[3], ARGV[1]) == 1 then
  if ARGV[2] == 'started' then
    redis.call('HSETNX', KEYS[1], 'at', ARGV[3])
  else
    redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
    redis.call('HSET', KEYS[1], 'last', ARGV[2])
  end
  redis.call('ZREMRANGEBYRANK', ids, 0, -2001)
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', ids, ARGV[4])
