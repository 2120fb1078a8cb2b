import "@mantine/core/styles/Modal.css";
import { Button, Group, Loader, Modal, NativeSelect, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, body, type Schemas } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { ReasonButton } from "../../parts/ReasonButton";
import { layerQuery, layersQuery, packQuery, packsQuery, type Place } from "./queries";
import { ReplayTab } from "./ReplayTab";
import type { Tier } from "../../parts/layers";
import { putIntoDraft } from "./useDraft";

type Pack = Schemas["PackModel"];
const ACTS: [Pack["state"], string][] = [
  ["shadow", "Run in shadow"],
  ["on", "Enforce"],
  ["off", "Switch off"],
];
const STATES = { on: "Enforced", shadow: "In shadow", off: "Off" };

/** The packs of rules, one card each, with their state in a layer that the reader chooses. */
export function Packs() {
  const me = useQuery(meQuery);
  const layers = useQuery(layersQuery);
  const [chosen, setChosen] = useState("");
  if (!me.data || !layers.data) return null;
  const { role, team, user } = me.data;
  const own = [...(role === "admin" ? ["organisation/"] : []), ...(role === "developer" ? [] : [`team/${team}`]), `user/${user}`];
  const others = layers.data.filter((one) => one.tier !== "organisation").map((one) => `${one.tier}/${one.name}`);
  const options = [...new Set([...own, ...others])];
  const [tier = "user", ...name] = (chosen || options[0] || "").split("/");
  return (
    <section aria-label="Packs">
      <Group justify="space-between" align="end" mb="xs">
        <Title order={2}>Packs</Title>
        <NativeSelect
          label="In the layer of"
          data={options.map((value) => ({ value, label: value === "organisation/" ? "the organisation" : value.replace("/", " ") }))}
          value={chosen || options[0] || ""}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
      </Group>
      <Cards place={{ tier: tier as Tier, name: name.join("/") }} />
    </section>
  );
}

function Cards({ place }: { place: Place }) {
  const packs = useQuery(packsQuery(place));
  return (
    <>
      <Failed error={packs.error} again={() => void packs.refetch()} />
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
        {packs.data?.map((pack) => (
          <Card key={pack.name} pack={pack} place={place} />
        ))}
      </SimpleGrid>
    </>
  );
}

function Card({ pack, place }: { pack: Pack; place: Place }) {
  const [opened, setOpened] = useState<"" | "try" | "report">("");
  const queries = useQueryClient();
  const act = async (state: Pack["state"], reason: string) => {
    const params = { path: { pack: pack.name }, query: { tier: place.tier, name: place.name } };
    await body(api.PUT("/policies/packs/{pack}", { params, body: { state, reason } }));
    await Promise.all(["packs", "layers", "policies", "rule-counts"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
  };
  return (
    <article className="panel" aria-label={pack.title} data-pack={pack.name}>
      <Stack gap={6} h="100%">
        <Group justify="space-between" gap="xs" wrap="nowrap">
          <Title order={3}>{pack.title}</Title>
          <Text size="sm" fw={pack.state === "off" ? 400 : 600} className={pack.state === "off" ? "muted" : ""} style={{ whiteSpace: "nowrap" }}>
            {STATES[pack.state]}
          </Text>
        </Group>
        <Text size="sm" className="muted">
          {pack.description}
        </Text>
        {pack.stopped > 0 && (
          <Text size="sm">
            {pack.state === "shadow" ? "Would have stopped" : "Stopped"} {pack.stopped} of {pack.calls} calls ({pack.rate} %)
            {pack.noisy && <strong> · noisy: it promises {pack.promise} %</strong>}
          </Text>
        )}
        <Group gap="xs" mt="auto">
          <Button size="xs" variant="default" onClick={() => setOpened("try")}>
            Try on last week
          </Button>
          {pack.stopped > 0 && (
            <Button size="xs" variant="default" onClick={() => setOpened("report")}>
              Report
            </Button>
          )}
          {ACTS.filter(([state]) => state !== pack.state).map(([state, label]) => (
            <ReasonButton key={state} label={label} act={(reason) => act(state, reason)}>
              <Text size="sm" mb="sm">
                {pack.title}: {pack.rules.length} rules, for {place.tier === "organisation" ? "the organisation" : `${place.tier} ${place.name}`}, at once.
              </Text>
            </ReasonButton>
          ))}
        </Group>
      </Stack>
      <Modal opened={opened !== ""} onClose={() => setOpened("")} title={pack.title} size="xl" closeButtonProps={{ "aria-label": "Close" }}>
        {opened === "try" && <ReplayTab asked={{ ...place, pack: pack.name }} what="pack" />}
        {opened === "report" && <Report pack={pack} place={place} />}
      </Modal>
    </article>
  );
}

function Report({ pack, place }: { pack: Pack; place: Place }) {
  const report = useQuery(packQuery(place, pack.name));
  const layer = useQuery(layerQuery(place));
  const navigate = useNavigate();
  const write = (path: string, text: string) => {
    const name = place.tier === "organisation" ? "" : place.name;
    putIntoDraft({ tier: place.tier, name }, layer.data?.files ?? {}, path, text);
    void navigate({ to: "/policies/$tier", params: { tier: place.tier }, search: { tab: "edit", file: path, ...(name ? { name } : {}) } });
  };
  return (
    <Stack gap="md">
      <Failed error={report.error ?? layer.error} again={() => void report.refetch()} />
      {report.isPending && <Loader aria-label="Loading" />}
      {report.data?.shapes.length === 0 && <p className="muted">The records of the stopped calls lack the data to group them by shape.</p>}
      {report.data?.shapes.map((one) => (
        <section key={`${one.rule} ${one.shape}`} aria-label={one.shape}>
          <Title order={3}>
            <span className="mono">{one.shape}</span>: {one.count} calls
          </Title>
          <p className="note">
            By <Link to="/decisions" search={{ rule: one.rule }}>{one.rule}</Link>, such as <span className="mono">{one.call}</span>
          </p>
          {one.text ? (
            <>
              <pre className="mono" style={{ overflowX: "auto" }}>{one.exception}</pre>
              <Button size="xs" variant="default" disabled={!layer.isSuccess} onClick={() => write(one.path, one.text)}>
                Write this exception (lets {one.cures} of {one.count} through)
              </Button>
            </>
          ) : (
            <p className="muted note">No exception fits: the rule would match nothing. Switch the rule off instead.</p>
          )}
        </section>
      ))}
    </Stack>
  );
}
