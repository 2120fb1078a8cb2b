-- Replaces a breaker's state if nobody else has, and empties its counts when its phase changes.
-- KEYS: 1 the breaker's hash. ARGV: 1 the state that is expected, 2 the new one, 3 whether to empty the counts, 4 lifetime in s.
if (redis.call('HGET', KEYS[1], 's') or '') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 's', ARGV[2])
if ARGV[3] == '1' then
  redis.call('HDEL', KEYS[1], 'b')
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
