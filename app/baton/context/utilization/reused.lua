-- Note which of the names of a tool call were put into the session's prompt.
-- KEYS: what was injected, what of it was used. ARGV: names.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local found = redis.call('SMISMEMBER', KEYS[1], unpack(ARGV))
local used = {}
for number, is_member in ipairs(found) do
  if is_member == 1 then
    used[#used + 1] = ARGV[number]
  end
end
if #used > 0 then
  redis.call('SADD', KEYS[2], unpack(used))
  redis.call('EXPIRE', KEYS[2], lifetime_s)
end
return #used
