-- Appends records to the stream and to the outbox of events, and keeps answers for retries, in one step.
-- Returns how many records wait in the stream.
-- KEYS: 1 the stream, 2 to 4 the outbox's, then one for each answer.
-- ARGV: 1 lifetime of an answer in s, 2 whether the outbox is wanted (0 or 1), 3 the number of answers, then the answers in
--   the order of their keys, then the records.
local answers = tonumber(ARGV[3])
for i = 1, answers do
  redis.call('SET', KEYS[4 + i], ARGV[3 + i], 'EX', ARGV[1])
end
for i = 4 + answers, #ARGV do
  redis.call('XADD', KEYS[1], '*', 'r', ARGV[i])
end
if ARGV[2] == '1' then
  put_events({KEYS[2], KEYS[3], KEYS[4]}, ARGV, 4 + answers)
end
return redis.call('XLEN', KEYS[1])
