-- Acknowledges and deletes stored entries, and appends each to the feed: one that another drain has acknowledged already
-- is in the feed already.
-- KEYS: 1 the stream, 2 the feed.
-- ARGV: 1 the group, 2 entries of the feed, then by turns an entry's id and what the feed gets of it ('' for nothing).
local ids = {}
for i = 3, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
  if redis.call('XACK', KEYS[1], ARGV[1], ARGV[i]) == 1 and ARGV[i + 1] ~= '' then
    -- `pcall`: an entry must leave the stream even while Redis is out of memory and takes nothing new.
    redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'r', ARGV[i + 1])
  end
end
redis.call('XDEL', KEYS[1], unpack(ids))
return 0
