import { Alert, Button, Group, Stack, Textarea } from "@mantine/core";
import { IconFlag } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";

/** Reports a decision as wrong to the leads of its team, with a word of why. */
export function ReportForm({ decisionId }: { decisionId: string }) {
  const [comment, setComment] = useState<string>();
  const report = useMutation({
    mutationFn: (text: string) => body(api.POST("/reports", { body: { decision_id: decisionId, comment: text } })),
  });
  if (report.data) return <Alert role="status">Reported. The team's leads see it next to the rule.</Alert>;
  if (comment === undefined) {
    return (
      <Group>
        <Button variant="default" leftSection={<IconFlag size={16} aria-hidden />} onClick={() => setComment("")}>
          Report as wrong
        </Button>
      </Group>
    );
  }
  return (
    <Stack gap="xs">
      <Textarea
        label="What is wrong with this decision?"
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
        maxLength={4_000}
        autosize
        data-autofocus
      />
      {report.error && (
        <Alert color="red" variant="outline" role="alert">
          {report.error.message}
        </Alert>
      )}
      <Group gap="xs">
        <Button onClick={() => report.mutate(comment)} loading={report.isPending}>
          Send the report
        </Button>
        <Button variant="default" onClick={() => setComment(undefined)}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}
