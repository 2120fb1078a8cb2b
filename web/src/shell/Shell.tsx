import { AppShell, Burger, Button, Group, Text, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconLogout, IconMoon, IconSearch, IconSun } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api, ApiError } from "../api/client";
import { meQuery } from "../api/queries";
import { MENU } from "../screens/menu";
import { restartStream } from "../api/stream";
import { focusFilter, moveFocus, useKeyboard, useKeys } from "../parts/keys";
import { useLive } from "./live";
import { MenuLink } from "./MenuLink";
import { ModeMenu } from "./ModeMenu";

const Palette = lazy(() => import("./Palette").then(({ Palette: default_ }) => ({ default: default_ })));
const KeysHelp = lazy(() => import("./KeysHelp").then(({ KeysHelp: default_ }) => ({ default: default_ })));
const EVERYWHERE = "Everywhere";

/** The frame of every screen: where one can go, and who is signed in. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const me = useQuery(meQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const colorScheme = useComputedColorScheme("light");
  const [over, setOver] = useState<"palette" | "keys" | "mode">();
  const done = () => setOver(undefined);
  useLive(me.data);
  useKeyboard(EVERYWHERE);
  useKeys(EVERYWHERE, [
    { press: "?", label: "Show the keys", run: () => setOver("keys") },
    { press: "mod+k", label: "Go to a screen, a session, a job, a rule", run: () => setOver("palette") },
    { press: "/", label: "Filter", run: focusFilter },
    { press: "j", label: "Next row", run: () => moveFocus(1) },
    { press: "k", label: "Previous row", run: () => moveFocus(-1) },
    { press: ".", label: "Mode", run: () => setOver("mode") },
    ...MENU.map(({ to, label, letter }) => ({
      press: `g ${letter}`,
      label,
      run: () => void navigate({ to, search: {} }),
    })),
  ]);

  async function signOut() {
    await api.DELETE("/session");
    queries.clear();
    restartStream();
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
          <Group gap={8} wrap="nowrap">
            {me.data && <ModeMenu opened={over === "mode"} setOpened={(opened) => setOver(opened ? "mode" : undefined)} />}
            <Button variant="default" size="xs" aria-label="Go to" onClick={() => setOver("palette")}>
              <IconSearch size={16} aria-hidden />
            </Button>
            {me.data && (
              <Text size="sm" className="cut" visibleFrom="sm">
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
              <Button variant="default" size="xs" aria-label="Sign out" onClick={() => void signOut()}>
                <span className="narrow-hidden">Sign out</span>
                <IconLogout className="narrow-shown" size={16} aria-hidden />
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
        {MENU.map((entry) => (
          <MenuLink key={entry.to} entry={entry} active={isAt(path, entry.to)} onClick={close} />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        {unknown ? (
          <Text>
            You are not signed in. <SignInLink>Sign in</SignInLink>. Your filters are kept.
          </Text>
        ) : (
          <Outlet />
        )}
      </AppShell.Main>
      <Suspense>
        {over === "palette" && <Palette close={done} />}
        {over === "keys" && <KeysHelp close={done} />}
      </Suspense>
    </AppShell>
  );
}

/** A link to the sign-in page that leads back to this one. */
function SignInLink({ children }: { children: string }) {
  const here = useRouterState({ select: (state) => state.location.publicHref });
  return <a href={`/ui/sign-in?return_to=${encodeURIComponent(here)}`}>{children}</a>;
}

/** Whether a path is a screen or below it; home is everybody's beginning, so only its own path counts. */
function isAt(path: string, to: string): boolean {
  return path === to || (to !== "/" && path.startsWith(`${to}/`));
}
