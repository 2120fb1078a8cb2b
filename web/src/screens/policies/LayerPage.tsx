import "@mantine/core/styles/Tabs.css";
import { Loader, Stack, Tabs, Title } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { LayerRules } from "./LayerRules";
import { layerQuery, type Place } from "./queries";
import type { Tab } from "./search";
import { remember } from "./replayed";
import { useDraft } from "./useDraft";
import { Versions } from "./Versions";

const EditTab = lazy(() => import("./EditTab").then((module) => ({ default: module.EditTab })));
const DiffTab = lazy(() => import("./DiffTab").then((module) => ({ default: module.DiffTab })));
const ReplayTab = lazy(() => import("./ReplayTab").then((module) => ({ default: module.ReplayTab })));
const route = getRouteApi("/shell/policies/$tier");

/** One layer: its rules and versions; a draft of it, tested while it is written, compared, replayed and activated. */
export function LayerPage() {
  const { tier } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/policies/$tier" });
  const me = useQuery(meQuery);
  const place: Place = { tier, name: search.name ?? "" };
  const layer = useQuery(layerQuery(place));
  const draft = useDraft(place, layer.data, search.from, search.way ?? "change", (file) =>
    void navigate({ search: (before) => ({ ...before, from: undefined, way: undefined, file }), replace: true }),
  );
  const isPhone = useMediaQuery("(max-width: 760px)") ?? false;
  const tab: Tab = isPhone ? "rules" : (search.tab ?? "rules");
  const choose = (next: string | null) => void navigate({ search: (before) => ({ ...before, tab: (next as Tab) ?? "rules" }) });
  const name = search.name ?? (tier === "team" ? me.data?.team : tier === "user" ? me.data?.user : "");
  return (
    <Stack gap="md">
      <Title order={1}>
        {tier[0]?.toUpperCase()}
        {tier.slice(1)} {name}
      </Title>
      <p className="note">
        <Link to="/policies">All rules and layers</Link>
      </p>
      <Failed error={layer.error ?? draft.error} again={() => void layer.refetch()} />
      {layer.isPending && <Loader aria-label="Loading" />}
      {layer.isSuccess && (
        <Tabs value={tab} onChange={choose} keepMounted={false}>
          {!isPhone && (
            <Tabs.List mb="md">
              <Tabs.Tab value="rules">Rules and versions</Tabs.Tab>
              <Tabs.Tab value="edit">Edit{draft.changed ? " (changed)" : ""}</Tabs.Tab>
              <Tabs.Tab value="diff">Difference</Tabs.Tab>
              <Tabs.Tab value="replay">Replay</Tabs.Tab>
            </Tabs.List>
          )}
          <Suspense fallback={<Loader aria-label="Loading" />}>
            <Tabs.Panel value="rules">
              <Stack gap="md">
                <LayerRules place={place} layer={layer.data} />
                <Versions place={place} active={layer.data?.version ?? 0} />
                {isPhone && <p className="muted note">Use a wider screen to write rules.</p>}
              </Stack>
            </Tabs.Panel>
            <Tabs.Panel value="edit">
              <EditTab
                place={place}
                draft={draft}
                active={layer.data?.version ?? 0}
                file={search.file}
                open={(file) => void navigate({ search: (before) => ({ ...before, file }), replace: true })}
              />
            </Tabs.Panel>
            <Tabs.Panel value="diff">
              <DiffTab place={place} files={draft.files} />
            </Tabs.Panel>
            <Tabs.Panel value="replay">
              <ReplayTab asked={{ ...place, files: draft.files }} what="draft" done={(summary) => remember(draft.files, summary)} />
            </Tabs.Panel>
          </Suspense>
        </Tabs>
      )}
    </Stack>
  );
}
