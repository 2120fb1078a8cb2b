-- Removes what has grown too old from streams that nothing is published on.
-- KEYS: a stream and its counts, for each stream. ARGV: most entries, most bytes, most age in ms.
local removed = 0
for i = 1, #KEYS, 2 do
  removed = removed + remove_oldest(KEYS[i], KEYS[i + 1], ARGV[1], ARGV[2], ARGV[3])
end
return removed
