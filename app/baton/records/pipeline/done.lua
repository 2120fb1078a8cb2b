-- Acknowledges and deletes stored entries, and appends each to the feed: one that another drain has acknowledged already
-- is in the feed already.
-- KEYS: 1 the stream, 2 the feed.
-- ARGV: 1 the group, 2 entries of the feed, then by turns an entry's id and what the feed gets of it ('' for nothing).
local ids = {}
for i = 3, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
end
local all = redis.call('XACK', KEYS[1], ARGV[1], unpack(ids)) == #ids
for n, id in ipairs(ids) do
  local fed = ARGV[2 * n + 2]
  -- Rarely another drain has stored some of them as well. Those have left the stream: it has run this script for them.
  if fed ~= '' and (all or #redis.call('XRANGE', KEYS[1], id, id) == 1) then
    -- `pcall`: an entry must leave the stream even while Redis is out of memory and takes nothing new.
    redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'r', fed)
  end
end
redis.call('XDEL', KEYS[1], unpack(ids))
return 0
