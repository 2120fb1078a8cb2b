import { Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

/** What an address without a screen shows, in the frame. */
export function NoScreen() {
  return (
    <Stack>
      <Title order={1}>No such screen</Title>
      <Text>
        Nothing is at this address. The menu lists the screens; <Link to="/">Now</Link> is the first one.
      </Text>
    </Stack>
  );
}
