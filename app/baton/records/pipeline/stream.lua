-- Appends records to the stream and to the outbox of events, in one step. Returns how many records wait in the stream.
-- KEYS: 1 the stream, 2 to 4 the outbox's. ARGV: 1 whether the outbox is wanted (0 or 1), then the records.
for i = 2, #ARGV do
  redis.call('XADD', KEYS[1], '*', 'r', ARGV[i])
end
if ARGV[1] == '1' then
  put_events({KEYS[2], KEYS[3], KEYS[4]}, ARGV, 2)
end
return redis.call('XLEN', KEYS[1])
