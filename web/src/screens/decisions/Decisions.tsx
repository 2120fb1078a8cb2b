import { Button, Group, Stack, Title } from "@mantine/core";
import { IconFlask } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { decisionsQuery } from "../../api/queries";
import { Export } from "../../parts/Export";
import { Failed } from "../../parts/Failed";
import { resolved } from "../../parts/time";
import { Words } from "../../parts/Words";
import { DecisionDrawer } from "../../parts/decision/DecisionDrawer";
import { DecisionTable } from "./DecisionTable";
import { Filters } from "./Filters";

const route = getRouteApi("/shell/decisions");

/** The list of decisions. Its filters are the page's URL, so that a list can be sent to somebody. */
export function Decisions() {
  const { id, ...filters } = route.useSearch();
  const navigate = useNavigate({ from: "/decisions" });
  const found = useInfiniteQuery(decisionsQuery(filters, true));
  const open = useCallback(
    (one: string | undefined) => void navigate({ search: (before) => ({ ...before, id: one }) }),
    [navigate],
  );
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const filtered = Object.values(filters).some(Boolean);
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Decisions</Title>
        <Group gap="xs">
          <Export path="/decisions/export" query={resolved(filters) as Record<string, string | undefined>} />
          <Button component={Link} to="/simulator" variant="default" leftSection={<IconFlask size={16} aria-hidden />}>
            Simulator
          </Button>
        </Group>
      </Group>
      <Filters
        filters={filters}
        set={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        clear={() => void navigate({ search: {} })}
      />
      <Failed error={found.error} again={() => void found.refetch()} />
      <div className="panel" style={{ padding: 0 }}>
        {items.length > 0 && <DecisionTable items={items} open={open} />}
        {found.isSuccess && items.length === 0 && (
          <p className="muted" style={{ padding: 16, margin: 0 }}>
            <Words text={filtered ? "No call matches. Clear the filters to see all." : "No calls yet. Run `baton hooks install` in a project."} />
          </p>
        )}
      </div>
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          {items.length > 0 ? "Show more" : "Search further back"}
        </Button>
      )}
      <DecisionDrawer id={id} close={() => open(undefined)} />
    </Stack>
  );
}
