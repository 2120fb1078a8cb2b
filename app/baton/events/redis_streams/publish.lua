-- Publishes events on the bus, each id once within the life of two sets of ids, and keeps every stream within its bounds.
-- Events of live topics are appended to the feed, too.
-- KEYS: 1 the ids of this period, 2 the ids of the one before, 3 the feed, then a stream and its counts for each event.
-- ARGV: 1 lifetime of a set of ids in s, 2 most entries of a stream, 3 most bytes, 4 most age in ms, 5 entries of the feed,
--   then for each event: its id, its user, its team, the event, and whether its topic is live (0 or 1).
-- Returns for each event its number in its stream, 0 for one that was published before.
local ids = {}
for i = 6, #ARGV, 5 do
  ids[#ids + 1] = ARGV[i]
end
-- What this batch has in common with what was published is asked for at once: most of it is new.
local now, before = redis.call('SMISMEMBER', KEYS[1], unpack(ids)), redis.call('SMISMEMBER', KEYS[2], unpack(ids))
redis.call('SADD', KEYS[1], unpack(ids))
redis.call('EXPIRE', KEYS[1], ARGV[1])

local numbers, published, streams = {}, {}, {}
for n, id in ipairs(ids) do
  if now[n] == 1 or before[n] == 1 or published[id] then
    numbers[n] = 0
  else
    published[id] = true
    local i, stream, counts = 1 + 5 * n, KEYS[2 + 2 * n], KEYS[3 + 2 * n]
    local seen = streams[stream]
    if not seen then
      seen = {counts = counts, number = tonumber(redis.call('HGET', counts, 'number') or '0'), entries = 0, bytes = 0}
      streams[stream] = seen
    end
    seen.number, seen.entries, seen.bytes = seen.number + 1, seen.entries + 1, seen.bytes + #ARGV[i + 3]
    redis.call('XADD', stream, '*', 'n', seen.number, 'user', ARGV[i + 1], 'team', ARGV[i + 2], 'event', ARGV[i + 3])
    if ARGV[i + 4] == '1' then
      redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'e', ARGV[i + 3])
    end
    numbers[n] = seen.number
  end
end
for stream, seen in pairs(streams) do
  redis.call('HSET', seen.counts, 'number', seen.number)
  redis.call('HINCRBY', seen.counts, 'entries', seen.entries)
  redis.call('HINCRBY', seen.counts, 'bytes', seen.bytes)
  remove_oldest(stream, seen.counts, ARGV[2], ARGV[3], ARGV[4])
end
return numbers
