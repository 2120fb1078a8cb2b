import "@mantine/core/styles/FloatingIndicator.css";
import "@mantine/core/styles/SegmentedControl.css";
import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, body } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { Words } from "../../parts/Words";
import { PatternCard } from "./PatternCard";
import { patternsQuery } from "./queries";
import { STATUSES } from "./search";

const route = getRouteApi("/shell/routing");
const NAMES = { proposed: "Proposed", validated: "Approved", retired: "Retired" } as const;
const EMPTY = {
  proposed: "Nothing waits for approval. Propose one with `baton patterns propose`, or search the records for repetitions.",
  validated: "No pattern is approved, so none is added to prompts.",
  retired: "No pattern was retired.",
};

/** What the team has learned: leads approve, retire and merge; nothing reaches a prompt before. */
export function Patterns() {
  const { status = "proposed" } = route.useSearch();
  const navigate = useNavigate({ from: "/routing" });
  const queries = useQueryClient();
  const found = useInfiniteQuery(patternsQuery(status));
  const rights = useQuery(meQuery).data?.rights ?? {};
  const search = useMutation({
    mutationFn: () => body(api.POST("/patterns/proposals", {})),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["patterns"] }),
  });
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <SegmentedControl
          aria-label="Status"
          size="xs"
          data={STATUSES.map((value) => ({ value, label: NAMES[value] }))}
          value={status}
          onChange={(value) => void navigate({ search: (before) => ({ ...before, status: STATUSES.find((one) => one === value) }) })}
        />
        {rights["patterns.propose"] && (
          <Group gap="sm">
            <Text size="sm" role="status">
              {search.data && `${search.data.items.length} new`}
            </Text>
            <Button size="xs" variant="default" loading={search.isPending} onClick={() => search.mutate()}>
              Search the records
            </Button>
          </Group>
        )}
      </Group>
      <Failed error={search.error ?? found.error} again={() => (search.error ? search.mutate() : void found.refetch())} />
      {items.map((one) => <PatternCard key={one.id} one={one} mayDecide={Boolean(rights["patterns.decide"])} />)}
      {found.isSuccess && items.length === 0 && <Text className="muted panel"><Words text={EMPTY[status]} /></Text>}
      {found.hasNextPage && (
        <Button variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </Stack>
  );
}
