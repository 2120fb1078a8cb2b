import { Button, Group, NativeSelect, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";
import { meQuery } from "../../api/queries";
import { Failed } from "../../parts/Failed";
import { QUALITY } from "./queries";

/** Say which agent would have been right for a route; later feedback replaces the same person's earlier. */
export function Feedback({ id, selected, names }: { id: string; selected: string; names: readonly string[] }) {
  const [agent, setAgent] = useState(selected);
  const me = useQuery(meQuery);
  const queries = useQueryClient();
  const given = useMutation({
    mutationFn: () => body(api.POST("/route/{route_id}/feedback", { params: { path: { route_id: id } }, body: { agent } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: QUALITY }),
  });
  if (!me.data?.rights["routes.feedback"]) return null;
  return (
    <>
      <Group align="end" mt="sm">
        <NativeSelect
          label="The right agent"
          data={[...names.map((name) => ({ value: name, label: name })), { value: "", label: "none of them" }]}
          value={agent}
          onChange={(event) => setAgent(event.currentTarget.value)}
        />
        <Button variant="default" loading={given.isPending} onClick={() => given.mutate()}>
          Say so
        </Button>
        <Text size="sm" role="status">
          {given.data && (given.data.agent === selected ? "Noted: it was right." : `Noted: ${given.data.agent || "none"} was right.`)}
        </Text>
      </Group>
      <Failed error={given.error} again={() => given.mutate()} />
    </>
  );
}
