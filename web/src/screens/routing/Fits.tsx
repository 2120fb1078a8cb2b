import { Badge, Button, Group, Table, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, body } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { ReasonButton } from "../../parts/ReasonButton";
import { moment } from "../../parts/time";
import { fitsQuery } from "./queries";

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** The weights that were fitted to the team's feedback, and which of them score prompts now. */
export function Fits() {
  const rights = useQuery(meQuery).data?.rights ?? {};
  const mayRead = Boolean(rights["routes.fits"]);
  const found = useQuery({ ...fitsQuery, enabled: mayRead });
  const queries = useQueryClient();
  const changed = () => queries.invalidateQueries({ queryKey: fitsQuery.queryKey });
  const fit = useMutation({ mutationFn: () => body(api.POST("/routing/fits", {})), onSuccess: changed });
  const activate = (version: number) => async (reason: string) => {
    await body(api.POST("/routing/fits/{version}/activate", { params: { path: { version } }, body: { reason } }));
    await changed();
  };
  if (!mayRead) return null;
  const fits = found.data?.items ?? [];
  const mayFit = Boolean(rights["routes.fit"]);
  return (
    <section className="panel" aria-label="Fits">
      <Group justify="space-between" mb="xs">
        <Title order={2}>Fits</Title>
        {mayFit && (
          <Group gap="xs">
            {fits.some(({ active }) => active) && <ReasonButton label="Back to the defaults" act={activate(0)} />}
            <Button size="xs" variant="default" loading={fit.isPending} onClick={() => fit.mutate()}>
              Fit to the feedback
            </Button>
          </Group>
        )}
      </Group>
      <Failed error={fit.error ?? found.error} again={() => (fit.error ? fit.mutate() : void found.refetch())} />
      {fits.length > 0 ? (
        <div style={{ overflowX: "auto" }}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Version</Table.Th>
                <Table.Th>Made</Table.Th>
                <Table.Th ta="right">Feedback</Table.Th>
                <Table.Th ta="right">Right before → after</Table.Th>
                <Table.Th />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {fits.map((one) => (
                <Table.Tr key={one.version}>
                  <Table.Td>
                    {one.version} {one.active && <Badge variant="default">in force</Badge>}
                  </Table.Td>
                  <Table.Td>
                    {moment(one.created_at)} by {one.created_by}
                  </Table.Td>
                  <Table.Td ta="right">{one.samples}</Table.Td>
                  <Table.Td ta="right">
                    {percent(one.before.top_1)} → {percent(one.after.top_1)}
                  </Table.Td>
                  <Table.Td ta="right">{mayFit && !one.active && <ReasonButton label={`Activate ${one.version}`} act={activate(one.version)} />}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      ) : (
        found.isSuccess && <Text className="muted">The defaults score prompts. With enough feedback, weights can be fitted to it.</Text>
      )}
    </section>
  );
}
