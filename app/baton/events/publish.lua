-- Publishes events on the bus, each id once within the life of two sets of ids, and keeps every stream within its bounds.
-- Events of live topics are appended to the feed, too.
-- KEYS: 1 the ids of this period, 2 the ids of the one before, 3 the feed, then a stream and its counts for each event.
-- ARGV: 1 lifetime of a set of ids in s, 2 most entries of a stream, 3 most bytes, 4 most age in ms, 5 entries of the feed,
--   then for each event: its id, its user, its team, the event, and whether its topic is live (0 or 1).
-- Returns for each event its number in its stream, 0 for one that was published before.
local numbers, touched = {}, {}

for i = 6, #ARGV, 5 do
  local at = 4 + (i - 6) / 5 * 2
  local stream, counts = KEYS[at], KEYS[at + 1]
  if redis.call('SISMEMBER', KEYS[2], ARGV[i]) == 1 or redis.call('SADD', KEYS[1], ARGV[i]) == 0 then
    numbers[#numbers + 1] = 0
  else
    local number = redis.call('HINCRBY', counts, 'number', 1)
    redis.call('XADD', stream, '*', 'n', number, 'user', ARGV[i + 1], 'team', ARGV[i + 2], 'event', ARGV[i + 3])
    redis.call('HINCRBY', counts, 'entries', 1)
    redis.call('HINCRBY', counts, 'bytes', #ARGV[i + 3])
    if ARGV[i + 4] == '1' then
      redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'e', ARGV[i + 3])
    end
    numbers[#numbers + 1] = number
    touched[stream] = counts
  end
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
for stream, counts in pairs(touched) do
  remove_oldest(stream, counts, ARGV[2], ARGV[3], ARGV[4])
end
return numbers
