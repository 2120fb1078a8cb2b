-- Removes the last call of a name from an agent's history, as it is refused after all, or appends it, as it may run after all.
-- KEYS: 1 what is known of the session, 2 the note for the call's end, if the call is refused and its end can be named.
-- ARGV: 1 the field of the agent's calls, 2 name, 3 "1" if it is refused, 4 the note, 5 its lifetime in seconds.
-- The field `refused` counts the refused ones.
if KEYS[2] then redis.call('SET', KEYS[2], ARGV[4], 'EX', ARGV[5]) end
local known = redis.call('HMGET', KEYS[1], ARGV[1], 'refused')
local names, refused = {}, known[2] or 0
local last
for name in string.gmatch(known[1] or '', '([^\n]*)\n') do
  names[#names + 1] = name
  if name == ARGV[2] then last = #names end
end
if ARGV[3] == '' then
  names[#names + 1] = ARGV[2]
  refused = refused - 1
elseif last then
  table.remove(names, last)
  refused = refused + 1
end
names[#names + 1] = ''
redis.call('HSET', KEYS[1], ARGV[1], table.concat(names, '\n'), 'refused', refused)
return 0
