"""The feed: the stream in Redis of what people follow live.

The drain appends decisions once they are stored, the courier events of live topics when it publishes them; `records.review.feed`
reads both.
"""

FEED = b"baton:feed"
FEED_LENGTH = 5_000
"""About how many entries the feed keeps, so that a reader who was away for a while misses none."""
