import { SimpleGrid, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { meQuery } from "../../api/queries";
import { moment } from "../../parts/time";
import { layersQuery } from "./queries";
import type { Tier } from "../../parts/layers";

/** The layers above the shipped rules: those that are active, and the reader's own, which may be empty. */
export function LayerList() {
  const layers = useQuery(layersQuery);
  const me = useQuery(meQuery);
  if (!layers.data || !me.data) return null;
  const own: [Tier, string][] = [
    ["organisation", "-"],
    ["team", me.data.team],
    ["user", me.data.user],
  ];
  const others = layers.data.filter((one) => !own.some(([tier, name]) => one.tier === tier && one.name === name));
  const shown: [Tier, string][] = [...own, ...others.map((one): [Tier, string] => [one.tier, one.name])];
  return (
    <section aria-label="Layers">
      <Title order={2} mb="xs">
        Layers
      </Title>
      {layers.data.length === 0 && <p className="muted note">Only the shipped rules. Add one from a decision, or write one here.</p>}
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
        {shown.map(([tier, name]) => {
          const active = layers.data.find((one) => one.tier === tier && one.name === name);
          return (
            <Link key={`${tier}/${name}`} to="/policies/$tier" params={{ tier }} search={name === "-" ? {} : { name }} className="panel card-link">
              <Text fw={600}>{tier === "organisation" ? "Organisation" : `${tier[0]?.toUpperCase()}${tier.slice(1)} ${name}`}</Text>
              <Text size="sm" className="muted">
                {active ? `Version ${active.version} by ${active.created_by}, ${moment(active.activated_at ?? active.created_at)}` : "No own rules"}
              </Text>
              {active?.reason && (
                <Text size="sm" className="cut">
                  {active.reason}
                </Text>
              )}
            </Link>
          );
        })}
      </SimpleGrid>
    </section>
  );
}
