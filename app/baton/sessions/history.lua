-- Reads the names of the calls before this one and appends this one, atomically.
-- KEYS: 1 what is known of the session: its project, root and names by agent, 2 its background tasks, 3 the user's rate,
--   4 this call and 5 its note for its end (absent if the client sends no call ids).
-- ARGV: 1 agent, 2 tool name, 3 decision id, 4 project and 5 root to which the session is pinned by its first event,
--   6 the project that the client names, "" for none, 7 the note, 8 the note of a call that is refused, else "". It is refused
--   9 "1": only under this pin and no report, 10 a number: only if one of so many names before has 11 a line of its own,
--   or its mark (` (look-up)`) has. A refused call is only counted, in the field `refused`.
-- `most` names are kept for `lifetime_s`, a tool_use_id for `retry_s`, its note for `watched_s`. The rate limit is a GCRA: one call each
--   `interval_ms` (0 for no limit), of which the user may be `tolerance_ms` ahead.
-- Returns {names before, one a line; decision id; 1 for a retry; background tasks; project or false; root or false;
--   ms until the user may call again, 0 if this call is allowed; checksum of its agents or false;
--   what its start reported or false; 1 if it was only counted}. A call that is not allowed is not appended.
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local agent = 'calls:' .. ARGV[1]
local place = redis.call('HMGET', KEYS[1], 'project', 'root', 'other', 'agents', 'renewed', 'reported', 'tasks', agent, 'refused')
local prior = place[8] or ''
-- Most sessions have no background tasks.
local background = place[7] and redis.call('SCARD', KEYS[2]) or 0
if not place[1] and ARGV[4] ~= '' then
  place[1], place[2], place[3], place[6] = ARGV[4], ARGV[5], false, false
  redis.call('HSET', KEYS[1], 'project', ARGV[4], 'root', ARGV[5])
end
if ARGV[6] ~= '' and ARGV[6] ~= place[1] and ARGV[6] ~= place[3] then
  redis.call('HSET', KEYS[1], 'other', ARGV[6])
end
-- Lifetimes are renewed now and then, not with each call: each renewal is a command that goes to the append-only file.
if now - tonumber(place[5] or '0') > lifetime_s * 50 then
  redis.call('HSET', KEYS[1], 'renewed', string.format('%.0f', now))
  redis.call('EXPIRE', KEYS[1], lifetime_s)
  redis.call('EXPIRE', KEYS[2], lifetime_s)
end
-- One command reads the retry and the rate.
local known = redis.call('MGET', KEYS[3], KEYS[4] or KEYS[3])
if KEYS[4] and known[2] then
  local cut = string.find(known[2], '\n', 1, true)
  return {string.sub(known[2], cut + 1), string.sub(known[2], 1, cut - 1), 1, background, place[1], place[2], 0, place[4], place[6]}
end

if interval_ms > 0 then
  local due = math.max(tonumber(known[1] or '0'), now)
  local wait = due - now - tolerance_ms
  if wait > 0 then
    return {'', ARGV[3], 0, background, place[1], place[2], math.ceil(wait), place[4], place[6]}
  end
  redis.call('SET', KEYS[3], due + interval_ms, 'PX', math.ceil(due - now + interval_ms))
end

local is_pin = place[1] == ARGV[4] and place[2] == ARGV[5] and (not place[6] or place[6] == '{}')
local refused = ARGV[8] ~= '' and (ARGV[9] == '' or is_pin)
if refused and ARGV[10] ~= '' then
  refused = false
  local names = {}
  for name in string.gmatch(prior, '[^\n]+') do names[#names + 1] = name end
  for at = math.max(1, #names - ARGV[10] + 1), #names do
    local mark = string.match(names[at], ' %(look%-up%)$') or ''
    local name = string.sub(names[at], 1, #names[at] - #mark)
    for _, line in ipairs({name, mark}) do
      refused = refused or (line ~= '' and string.find(ARGV[11], '\n' .. line .. '\n', 1, true) ~= nil)
    end
  end
end
if refused then
  redis.call('HSET', KEYS[1], 'refused', (place[9] or 0) + 1)
else
  local names = prior .. ARGV[2] .. '\n'
  local _, count = string.gsub(names, '\n', '')
  while count > most do
    names = string.sub(names, string.find(names, '\n', 1, true) + 1)
    count = count - 1
  end
  redis.call('HSET', KEYS[1], agent, names)
end
if KEYS[4] then
  redis.call('SET', KEYS[4], ARGV[3] .. '\n' .. prior, 'EX', retry_s)
  redis.call('SET', KEYS[5], refused and ARGV[8] or ARGV[7], 'EX', watched_s)
end
return {prior, ARGV[3], 0, background, place[1], place[2], 0, place[4], place[6], refused and 1 or 0}
