-- Removes entries of a stream of the bus, and takes them off its counts.
-- KEYS: the stream, its counts. ARGV: by turns an entry's id and the bytes of its event. Returns how many there were.
local gone = 0
for i = 1, #ARGV, 2 do
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 then
    redis.call('HINCRBY', KEYS[2], 'entries', -1)
    redis.call('HINCRBY', KEYS[2], 'bytes', -tonumber(ARGV[i + 1]))
    gone = gone + 1
  end
end
return gone
