-- Appends records to the stream and keeps answers for retries, in one step.
-- KEYS: 1 the stream, then one for each answer.
-- ARGV: 1 lifetime of an answer in s, then the answers in the order of their keys, then the records.
for i = 2, #KEYS do
  redis.call('SET', KEYS[i], ARGV[i], 'EX', ARGV[1])
end
for i = #KEYS + 1, #ARGV do
  redis.call('XADD', KEYS[1], '*', 'r', ARGV[i])
end
return #ARGV - #KEYS
