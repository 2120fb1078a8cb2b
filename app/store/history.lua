-- Reads the names of the calls before this one and appends this one, in one step.
-- KEYS: 1 the session's names by agent, 2 its background tasks, 3 its project and root,
--   4 this call and 5 its answer (absent where the client gives calls no id).
-- ARGV: 1 agent, 2 tool name, 3 decision id, 4 names kept, 5 lifetime in s, 6 lifetime of a tool_use_id in s.
-- Gives {names before, one a line; decision id; answer or false; 1 for a retry; background tasks; project or false; root or false}.
local background = redis.call('SCARD', KEYS[2])
local place = redis.call('HMGET', KEYS[3], 'project', 'root')
if KEYS[4] then
  local seen = redis.call('HMGET', KEYS[4], 'prior', 'id')
  if seen[2] then
    return {seen[1], seen[2], redis.call('GET', KEYS[5]), 1, background, place[1], place[2]}
  end
end

local prior = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local names = prior .. ARGV[2] .. '\n'
local _, count = string.gsub(names, '\n', '')
while count > tonumber(ARGV[4]) do
  names = string.sub(names, string.find(names, '\n', 1, true) + 1)
  count = count - 1
end
redis.call('HSET', KEYS[1], ARGV[1], names)
for i = 1, 3 do
  redis.call('EXPIRE', KEYS[i], ARGV[5])
end

if KEYS[4] then
  redis.call('HSET', KEYS[4], 'prior', prior, 'id', ARGV[3])
  redis.call('EXPIRE', KEYS[4], ARGV[6])
end
return {prior, ARGV[3], false, 0, background, place[1], place[2]}
