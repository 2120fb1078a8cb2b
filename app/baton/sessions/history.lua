-- Reads the names of the calls before this one and appends this one, atomically.
-- KEYS: 1 the session's names by agent, 2 its background tasks, 3 its project and root, 4 the user's rate,
--   5 this call (absent if the client sends no call ids).
-- ARGV: 1 agent, 2 tool name, 3 decision id, 4 project and 5 root to which the session is pinned by its first event,
--   6 the project that the client names, "" for none.
-- `most` names are kept for `lifetime_s`, a tool_use_id for `retry_s`. The rate limit is a GCRA: one call each
--   `interval_ms` (0 for no limit), of which the user may be `tolerance_ms` ahead.
-- Returns {names before, one a line; decision id; 1 for a retry; background tasks; project or false; root or false;
--   ms until the user may call again, 0 if this call is allowed; checksum of its agents or false}. A call that is not allowed is not appended.
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local background = redis.call('SCARD', KEYS[2])
local place = redis.call('HMGET', KEYS[3], 'project', 'root', 'other', 'agents', 'renewed')
if not place[1] and ARGV[4] ~= '' then
  place = {ARGV[4], ARGV[5], false, place[4], place[5]}
  redis.call('HSET', KEYS[3], 'project', ARGV[4], 'root', ARGV[5])
  redis.call('EXPIRE', KEYS[3], lifetime_s)
end
if ARGV[6] ~= '' and ARGV[6] ~= place[1] and ARGV[6] ~= place[3] then
  redis.call('HSET', KEYS[3], 'other', ARGV[6])
end
if KEYS[5] then
  local seen = redis.call('GET', KEYS[5])
  if seen then
    local cut = string.find(seen, '\n', 1, true)
    return {string.sub(seen, cut + 1), string.sub(seen, 1, cut - 1), 1, background, place[1], place[2], 0, place[4]}
  end
end

if interval_ms > 0 then
  local due = math.max(tonumber(redis.call('GET', KEYS[4]) or '0'), now)
  local wait = due - now - tolerance_ms
  if wait > 0 then
    return {'', ARGV[3], 0, background, place[1], place[2], math.ceil(wait), place[4]}
  end
  redis.call('SET', KEYS[4], due + interval_ms, 'PX', math.ceil(due - now + interval_ms))
end

local prior = redis.call('HGET', KEYS[1], ARGV[1]) or ''
local names = prior .. ARGV[2] .. '\n'
local _, count = string.gsub(names, '\n', '')
while count > most do
  names = string.sub(names, string.find(names, '\n', 1, true) + 1)
  count = count - 1
end
redis.call('HSET', KEYS[1], ARGV[1], names)
-- Lifetimes are renewed now and then, not with each call: each renewal is a command that goes to the append-only file.
local renew = now - tonumber(place[5] or '0') > lifetime_s * 50
if renew then
  redis.call('HSET', KEYS[3], 'renewed', string.format('%.0f', now))
  redis.call('EXPIRE', KEYS[3], lifetime_s)
  redis.call('EXPIRE', KEYS[2], lifetime_s)
end
if renew or prior == '' then -- without names before it the hash may have been made just now
  redis.call('EXPIRE', KEYS[1], lifetime_s)
end

if KEYS[5] then
  redis.call('SET', KEYS[5], ARGV[3] .. '\n' .. prior, 'EX', retry_s)
end
return {prior, ARGV[3], 0, background, place[1], place[2], 0, place[4]}
