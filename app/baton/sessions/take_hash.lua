-- Reads a hash and deletes it, in one step: of two that ask at once, one gets it.
-- KEYS: 1 the hash.
local found = redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
return found
