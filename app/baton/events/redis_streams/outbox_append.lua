-- KEYS: the outbox's. ARGV: the entries.
return put_events(KEYS, ARGV, 1)
