import { Alert, Button, Group, Text } from "@mantine/core";
import { ApiError } from "../api/client";

/** Says that something could not be loaded, and offers to try again; what was loaded before stays on the page. */
export function Failed({ error, again }: { error: Error | null; again: () => void }) {
  if (!error) return null;
  const status = error instanceof ApiError && error.status ? ` (${error.status})` : "";
  return (
    <Alert color="red" variant="outline" role="alert" title={`Could not load${status}`}>
      <Group justify="space-between">
        <Text size="sm">{error.message}</Text>
        <Button size="xs" variant="default" onClick={again}>
          Try again
        </Button>
      </Group>
    </Alert>
  );
}
