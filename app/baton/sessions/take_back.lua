-- Removes the last call of a name from an agent's history, and counts it in the field `refused`.
-- KEYS: 1 what is known of the session, 2 the note for the call's end, if it can be named.
-- ARGV: 1 the field of the agent's calls, 2 name, 3 the note, 4 its lifetime in seconds.
if KEYS[2] then redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4]) end
local known = redis.call('HMGET', KEYS[1], ARGV[1], 'refused')
local calls, refused = known[1] or '', (known[2] or 0) + 1
local line = ARGV[2] .. '\n'
if string.sub('\n' .. calls, -#line - 1) == '\n' .. line then -- as almost always, no other call came between
  redis.call('HSET', KEYS[1], ARGV[1], string.sub(calls, 1, -#line - 1), 'refused', refused)
  return 0
end
local names = {}
local last
for name in string.gmatch(calls, '([^\n]*)\n') do
  names[#names + 1] = name
  if name == ARGV[2] then last = #names end
end
if last then
  table.remove(names, last)
  names[#names + 1] = ''
  redis.call('HSET', KEYS[1], ARGV[1], table.concat(names, '\n'), 'refused', refused)
end
return 0
