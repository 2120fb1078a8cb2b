import { AppShell, Burger, Button, Group, NavLink, Text, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconMoon, IconSun } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { api, ApiError } from "../api/client";
import { meQuery } from "../api/queries";
import { MENU } from "../screens/menu";
import { useKeys } from "./keys";

/** The frame of every screen: where one can go, and who is signed in. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const me = useQuery(meQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const colorScheme = useComputedColorScheme("light");
  useKeys();

  async function signOut() {
    await api.DELETE("/session");
    queries.clear();
    await navigate({ to: "/sign-in" });
  }

  const unknown = me.error instanceof ApiError && me.error.status === 401;
  return (
    <AppShell header={{ height: 52 }} navbar={{ width: 190, breakpoint: "sm", collapsed: { mobile: !opened } }} padding="md">
      <a className="skip" href="#main">
        Go to the content
      </a>
      <AppShell.Header style={{ background: "var(--surface)", borderColor: "var(--line)" }}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Text fw={700}>Baton</Text>
          </Group>
          <Group gap="sm" wrap="nowrap">
            {me.data && (
              <Text size="sm" className="cut">
                {me.data.user} · {me.data.role}
              </Text>
            )}
            <Button
              variant="default"
              size="xs"
              aria-label={colorScheme === "dark" ? "Light colours" : "Dark colours"}
              onClick={() => setColorScheme(colorScheme === "dark" ? "light" : "dark")}
            >
              {colorScheme === "dark" ? <IconSun size={16} aria-hidden /> : <IconMoon size={16} aria-hidden />}
            </Button>
            {me.data?.signed_in_until ? (
              <Button variant="default" size="xs" onClick={() => void signOut()}>
                Sign out
              </Button>
            ) : (
              <Button variant="default" size="xs" onClick={() => void navigate({ to: "/sign-in" })}>
                Sign in
              </Button>
            )}
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" style={{ background: "var(--surface)", borderColor: "var(--line)" }}>
        {MENU.map(({ to, label, Icon }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            leftSection={<Icon size={18} aria-hidden />}
            active={isAt(path, to)}
            aria-current={isAt(path, to) ? "page" : undefined}
            onClick={close}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        {unknown ? (
          <Text>
            You are not signed in. <Link to="/sign-in">Sign in</Link>; what you filtered stays in the address.
          </Text>
        ) : (
          <Outlet />
        )}
      </AppShell.Main>
    </AppShell>
  );
}

/** Whether a path is a screen or below it; home is everybody's beginning, so only its own path counts. */
function isAt(path: string, to: string): boolean {
  return path === to || (to !== "/" && path.startsWith(`${to}/`));
}
