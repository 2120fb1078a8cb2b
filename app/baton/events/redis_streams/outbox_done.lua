-- Acknowledges and deletes entries of the outbox, and takes their bytes off its count.
-- KEYS: the outbox's. ARGV: 1 the group, then by turns an entry's id and its bytes.
local ids, freed = {}, 0
for i = 2, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
  freed = freed + tonumber(ARGV[i + 1])
end
if redis.call('XACK', KEYS[1], ARGV[1], unpack(ids)) == #ids then
  redis.call('XDEL', KEYS[1], unpack(ids))
else
  -- One that another courier has published as well is gone already, and is counted once.
  freed = 0
  for i = 2, #ARGV, 2 do
    if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
      freed = freed + tonumber(ARGV[i + 1])
    end
  end
end
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('SET', KEYS[2], 0)
else
  redis.call('DECRBY', KEYS[2], freed)
end
return freed
