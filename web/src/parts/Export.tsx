import { Button, Menu } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { address } from "./csv";

const FORMATS = { csv: "CSV, for a spreadsheet", ndjson: "NDJSON, one record a line" } as const;

/** Saves everything that the filters match, as a file that the server streams. */
export function Export({ path, query }: { path: string; query: Record<string, string | undefined> }) {
  return (
    <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} aria-hidden />}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {(["csv", "ndjson"] as const).map((format) => (
          <Menu.Item key={format} component="a" href={address(path, { ...query, format })} download>
            {FORMATS[format]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
