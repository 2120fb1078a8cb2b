-- Keeps which sub-agents of a session run, where the client's calls do not name the agent that makes them.
-- KEYS: 1 the bracket: `id` that its calls get, `last` time of a call of the main agent's turn in ms, `seen` once a sub-agent
--   has made a call, and `n:<agent>` how many of that name run. It is absent while none runs. 2 there if no start is believed.
-- ARGV: 1 what happened, 2 its time in ms by the client's clock (0: unknown), 3 the agent's name, 4 the bracket's id,
--   5 "1" for a start that only the main agent can make.
-- Calls within `same_turn_ms` of the main agent's turn are its own. `lifetime_s` is how long a bracket lasts without a call.
-- Returns {id, agent's name or ''} for a call of a sub-agent, false for anything else.
local kind, at, bracket = ARGV[1], tonumber(ARGV[2]), KEYS[1]
if kind == 'distrust' then
  redis.call('SET', KEYS[2], '1', 'EX', distrusted_s)
  redis.call('DEL', bracket)
  return false
end
if kind == 'none' then
  redis.call('DEL', bracket)
  return false
end
local last = tonumber(redis.call('HGET', bracket, 'last'))
local near = last and at > 0 and last > 0 and math.abs(at - last) <= same_turn_ms

if kind == 'start' then
  if redis.call('EXISTS', KEYS[2]) == 1 then
    return false
  end
  -- A sub-agent of this client starts none. The main agent is back, whatever was still said to run.
  if last and ARGV[5] == '1' and not near then
    redis.call('DEL', bracket)
  end
  redis.call('HINCRBY', bracket, 'n:' .. ARGV[3], 1)
  redis.call('HSETNX', bracket, 'id', ARGV[4])
  redis.call('HSET', bracket, 'last', math.max(last or 0, at))
  redis.call('EXPIRE', bracket, lifetime_s)
  return false
end
if not last then
  return false
end

local names = {}
for _, field in ipairs(redis.call('HKEYS', bracket)) do
  if string.sub(field, 1, 2) == 'n:' then
    names[#names + 1] = string.sub(field, 3)
  end
end
if kind == 'end' then
  if redis.call('HINCRBY', bracket, 'n:' .. ARGV[3], -1) <= 0 then
    redis.call('HDEL', bracket, 'n:' .. ARGV[3])
  end
  for _, name in ipairs(names) do
    if redis.call('HEXISTS', bracket, 'n:' .. name) == 1 then
      return false
    end
  end
  redis.call('DEL', bracket)
elseif kind == 'turn' then
  -- No agent has made a call, and a model is asked with results: the main agent's, as the agents' calls were refused.
  if at > last and redis.call('HEXISTS', bracket, 'seen') == 0 then
    redis.call('DEL', bracket)
  end
elseif near then
  redis.call('HSET', bracket, 'last', math.max(last, at))
else
  redis.call('HSET', bracket, 'seen', '1')
  redis.call('EXPIRE', bracket, lifetime_s)
  return {redis.call('HGET', bracket, 'id'), #names == 1 and names[1] or ''}
end
return false
