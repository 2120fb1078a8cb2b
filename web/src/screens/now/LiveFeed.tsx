import { Button, Group, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { api, body } from "../../api/client";
import { useConnection, useStream } from "../../api/stream";
import { DecisionRow } from "../../parts/DecisionRow";
import { Failed } from "../../parts/Failed";
import { useKeys } from "../../parts/keys";
import { feed } from "./live";

const ROW_PX = 32;
const TOUCH_ROW_PX = 44;
const CONNECTIONS = { connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…", "signed-out": "Signed out" };

/** The newest decisions as they come. Scrolling, an open row or Pause hold the list; "N new" lets it go on. */
export function LiveFeed({ open, opened }: { open: (id: string) => void; opened: boolean }) {
  const { items, held, fresh } = useSyncExternalStore(feed.subscribe, feed.snapshot);
  const connection = useConnection();
  const [paused, setPaused] = useState(false);
  const before = useQuery({
    queryKey: ["newest decisions"],
    queryFn: () => body(api.GET("/decisions", { params: { query: { limit: 100 } } })),
    // A stream may begin after the list was read: what was stored in between comes with the next reading.
    refetchInterval: connection === "live" ? 10_000 : 5_000,
  });
  useEffect(() => before.data && feed.fill(before.data.items), [before.data]);
  const { refetch } = before;
  useEffect(() => {
    // The stream begins when it is connected: what was stored after the list was read and before that is in neither.
    if (connection === "live") void refetch();
  }, [connection, refetch]);
  useStream("gap", () => void refetch());
  useEffect(() => feed.hold("open", opened), [opened]);
  useEffect(() => feed.hold("paused", paused), [paused]);
  useEffect(() => () => ["open", "paused", "scrolled"].forEach((reason) => feed.hold(reason, false)), []);

  const phone = useMediaQuery("(max-width: 760px)") ?? false;
  const list = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => list.current,
    estimateSize: () => (phone ? TOUCH_ROW_PX : ROW_PX),
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 6,
  });
  useEffect(() => rows.measure(), [phone, rows]);

  function goOn() {
    setPaused(false);
    list.current?.scrollTo({ top: 0 });
    feed.hold("paused", false);
    feed.hold("scrolled", false);
  }
  useKeys("Now", [{ press: "space", label: "Pause or resume", run: () => (paused ? goOn() : setPaused(true)) }]);

  return (
    <section className="panel" style={{ padding: 0 }} aria-label="Live feed">
      <Group justify="space-between" p="sm">
        <Group gap="sm">
          <Text fw={600} role="status" data-connection={connection}>
            {connection === "live" && held ? (paused ? "Paused" : "Held") : CONNECTIONS[connection]}
          </Text>
          {fresh > 0 && (
            <Button size="compact-sm" variant="light" onClick={goOn}>
              {fresh.toLocaleString()} new
            </Button>
          )}
        </Group>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => (paused ? goOn() : setPaused(true))} aria-pressed={paused}>
            {paused ? "Go on" : "Pause"}
          </Button>
          <Button size="xs" variant="default" component={Link} to="/decisions">
            All decisions
          </Button>
        </Group>
      </Group>
      <Failed error={items.length === 0 ? before.error : null} again={() => void before.refetch()} />
      <div
        ref={list}
        className="feed"
        hidden={items.length === 0}
        tabIndex={-1}
        onScroll={(event) => feed.hold("scrolled", event.currentTarget.scrollTop > 0)}
      >
        <ul className="rows" aria-label="The newest decisions" style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map(({ key, index, start, size }) => {
            const one = items[index];
            return (
              one && (
                <li key={key} className="feed-row" style={{ height: size, transform: `translateY(${start}px)` }}>
                  <DecisionRow one={one} open={open} />
                </li>
              )
            );
          })}
        </ul>
      </div>
      {before.isSuccess && items.length === 0 && (
        <p className="muted" style={{ padding: 16, margin: 0 }}>
          No calls yet. Run <code>baton hooks install</code> in a project, and start your agent there.
        </p>
      )}
    </section>
  );
}
