-- Removes the last call of a name from an agent's history, and counts it in the field `refused`.
-- KEYS: 1 what is known of the session. ARGV: 1 the field of the agent's calls, 2 name.
local names = {}
local last
for name in string.gmatch(redis.call('HGET', KEYS[1], ARGV[1]) or '', '([^\n]*)\n') do
  names[#names + 1] = name
  if name == ARGV[2] then last = #names end
end
if last then
  table.remove(names, last)
  names[#names + 1] = ''
  redis.call('HSET', KEYS[1], ARGV[1], table.concat(names, '\n'))
  redis.call('HINCRBY', KEYS[1], 'refused', 1)
end
return 0
