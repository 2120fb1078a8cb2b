import "@mantine/core/styles/Menu.css";
import "@mantine/core/styles/Popover.css";
import { Button, Menu, TextInput } from "@mantine/core";
import { IconBookmark, IconCheck } from "@tabler/icons-react";
import { useRouter, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { FormDialog } from "./FormDialog";
import { keepViews, type View, viewsKept } from "./keptViews";

/** The kept views of this screen: open one, keep the present one under a name, copy its link. */
export function Views() {
  const router = useRouter();
  const here = useRouterState({ select: (state) => state.location.href });
  const [views, setViews] = useState(viewsKept);
  const [name, setName] = useState<string>();
  const [copied, setCopied] = useState(false);
  const screen = here.split("?")[0];
  const mine = views.filter(({ path }) => path.split("?")[0] === screen);
  const kept = mine.find(({ path }) => path === here);
  const keep = (next: View[]) => setViews(keepViews(next));
  return (
    <>
      <Menu position="bottom-start" width={240} withInitialFocusPlaceholder={false} onClose={() => setCopied(false)}>
        <Menu.Target>
          <Button variant="default" leftSection={<IconBookmark size={16} aria-hidden />}>
            {kept?.name ?? "Views"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {mine.map((one) => (
            <Menu.Item key={one.name} onClick={() => router.history.push(`${router.basepath}${one.path}`)} rightSection={one === kept && <IconCheck size={16} aria-label="shown" />}>
              {one.name}
            </Menu.Item>
          ))}
          {mine.length > 0 && <Menu.Divider />}
          {kept ? (
            <Menu.Item onClick={() => keep(views.filter((one) => one !== kept))}>Remove “{kept.name}”</Menu.Item>
          ) : (
            <Menu.Item onClick={() => setName("")}>Save this view…</Menu.Item>
          )}
          {navigator.clipboard && (
            <Menu.Item closeMenuOnClick={false} onClick={() => void navigator.clipboard.writeText(location.href).then(() => setCopied(true))}>
              {copied ? "Copied" : "Copy its link"}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {name !== undefined && (
        <FormDialog title="Save this view" submit="Save" run={async () => keep([...views.filter((one) => one.name !== name.trim()), { name: name.trim(), path: here }])} changes={[]} close={() => setName(undefined)} disabled={!name.trim()}>
          <TextInput label="Name" description="Kept in this browser. Its link shows the same to others." value={name} maxLength={60} onChange={(event) => setName(event.currentTarget.value)} data-autofocus />
        </FormDialog>
      )}
    </>
  );
}
