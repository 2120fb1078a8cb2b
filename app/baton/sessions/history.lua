-- Reads the names of the calls before this one and appends this one, atomically.
-- KEYS: 1 the session's names by agent, 2 its background tasks, 3 its project and root,
--   4 this call and 5 its answer (absent if the client sends no call ids), the last the user's rate.
-- ARGV: 1 agent, 2 tool name, 3 decision id, 4 project and 5 root to which the session is pinned by its first event,
--   6 the project that the client names, "" for none.
-- `most` names are kept for `lifetime_s`, a tool_use_id for `retry_s`. The rate limit is a GCRA: one call each
--   `interval_ms` (0 for no limit), of which the user may be `tolerance_ms` ahead.
-- Returns {names before, one a line; decision id; answer or false; 1 for a retry; background tasks; project or false;
--   root or false; ms until the user may call again, 0 if this call is allowed; checksum of its agents or false}. A call that is not allowed is not appended.
local background = redis.call('SCARD', KEYS[2])
local place = redis.call('HMGET', KEYS[3], 'project', 'root', 'other', 'agents')
if not place[1] and ARGV[4] ~= '' then
  place = {ARGV[4], ARGV[5], false, place[4]}
  redis.call('HSET', KEYS[3], 'project', ARGV[4], 'root', ARGV[5])
  redis.call('EXPIRE', KEYS[3], lifetime_s)
end
if ARGV[6] ~= '' and ARGV[6] ~= place[1] and ARGV[6] ~= place[3] then
  redis.call('HSET', KEYS[3], 'other', ARGV[6])
end
if KEYS[5] then
  local seen = redis.call('HMGET', KEYS[4], 'prior', 'id')
  if seen[2] then
    return {seen[1], seen[2], redis.call('GET', KEYS[5]), 1, background, place[1], place[2], 0, place[4]}
  end
end

if interval_ms > 0 then
  local time, rate = redis.call('TIME'), KEYS[#KEYS]
  local now = time[1] * 1000 + time[2] / 1000
  local due = math.max(tonumber(redis.call('GET', rate) or '0'), now)
  local wait = due - now - tolerance_ms
  if wait > 0 then
    return {'', ARGV[3], false, 0, background, place[1], place[2], math.ceil(wait), place[4]}
  end
  redis.call('SET', rate, due + interval_ms, 'PX', math.ceil(due - now + interval_ms))
end

local prior = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local names = prior .. ARGV[2] .. '\n'
local _, count = string.gsub(names, '\n', '')
while count > most do
  names = string.sub(names, string.find(names, '\n', 1, true) + 1)
  count = count - 1
end
redis.call('HSET', KEYS[1], ARGV[1], names)
for i = 1, 3 do
  redis.call('EXPIRE', KEYS[i], lifetime_s)
end

if KEYS[5] then
  redis.call('HSET', KEYS[4], 'prior', prior, 'id', ARGV[3])
  redis.call('EXPIRE', KEYS[4], retry_s)
end
return {prior, ARGV[3], false, 0, background, place[1], place[2], 0, place[4]}
