-- Acknowledges and deletes entries of the outbox, and takes their bytes off its count.
-- KEYS: the outbox's. ARGV: 1 the group, then the ids.
local freed = 0
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if entry then
    freed = freed + #entry[2][2]
    redis.call('XDEL', KEYS[1], ARGV[i])
  end
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
end
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('SET', KEYS[2], 0)
else
  redis.call('DECRBY', KEYS[2], freed)
end
return freed
