import { Button, Group, NativeSelect, Stack, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconPlus, IconTrash } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Activate } from "./Activate";
import { Editor } from "./Editor";
import { type Files, layerQuery, schemaQuery, testQuery, type Place } from "./queries";
import { TestResults } from "./TestResults";
import type { Draft } from "./useDraft";

const WAIT_MS = 400;
const NO_FILES: Files = {};
const NO_PATHS: string[] = [];
const sorted = (files: Files) => Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
const PATH = /^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*$/;
const NEW = (path: string) => `id: ${path.replace(/\.yaml$/, "")}
description: State in one sentence the forbidden action and the reason.
match:
  shell: {program: make, operands: [deploy]}
decision: ask
reason: "\`{command}\` deploys."
suggest: Name the version to deploy to the person, and ask.
tests:
  match:
    - make deploy
  not_match:
    - make test
`;

/** The files of a draft, an editor of one of them, and what becomes of the tests while somebody types. */
export function EditTab({
  place,
  draft,
  active,
  file,
  open,
}: {
  place: Place;
  draft: Draft;
  active: number;
  file: string | undefined;
  open: (file: string | undefined) => void;
}) {
  const paths = Object.keys(draft.files).sort();
  const path = file !== undefined && file in draft.files ? file : paths[0];
  const [files] = useDebouncedValue(draft.files, WAIT_MS);
  const schemas = useQuery(schemaQuery);
  const test = useQuery(testQuery(place, files));
  const current = useQuery(layerQuery(place)).data?.files ?? NO_FILES;
  // A file with problems never blocks another one: without it, the rest is tested again.
  const bad = test.data && !test.data.accepted ? paths.filter((one) => files[one] !== current[one] && test.data?.problems.some(({ file }) => file === one)) : NO_PATHS;
  const good = Object.fromEntries(Object.entries({ ...files, ...Object.fromEntries(bad.map((one) => [one, current[one]])) }).filter((pair): pair is [string, string] => pair[1] !== undefined));
  const isPart = bad.length > 0 && JSON.stringify(sorted(good)) !== JSON.stringify(sorted(current));
  const rest = useQuery({ ...testQuery(place, good), enabled: isPart });
  const settled = files === draft.files && !test.isPlaceholderData;
  const ready = !settled ? undefined : test.data?.accepted ? files : isPart && rest.data?.accepted && !rest.isPlaceholderData ? good : undefined;
  const problems = test.data?.problems.filter((problem) => problem.file === path) ?? [];
  return (
    <div className="beside editing">
      <Stack gap="sm">
        <FileBar path={path} paths={paths} open={open} draft={draft} />
        {path === undefined ? (
          <p className="panel muted">This layer has no file yet. Add one above, or make a rule from a decision.</p>
        ) : (
          <Editor
            key={path}
            label={path}
            text={draft.files[path] ?? ""}
            change={(text) => draft.put(path, text)}
            problems={problems}
            schema={path === "config.yaml" ? schemas.data?.config : path.startsWith("agents/") ? schemas.data?.roster : path.startsWith("shell/") ? undefined : schemas.data?.rule}
          />
        )}
      </Stack>
      <Stack gap="sm">
        <TestResults test={test} stale={files !== draft.files} open={open} />
        <Activate place={place} draft={draft} active={active} ready={ready} left={bad} />
      </Stack>
    </div>
  );
}

function FileBar({ path, paths, open, draft }: { path: string | undefined; paths: string[]; open: (file: string | undefined) => void; draft: Draft }) {
  const [name, setName] = useState<string>();
  const wrong = name !== undefined && name !== "" && !PATH.test(name) ? "letters, digits, `_`, `.` and `-`, in folders" : null;
  function add() {
    if (!name || wrong) return;
    const full = name.endsWith(".yaml") ? name : `${name.includes("/") ? name : `own/${name}`}.yaml`;
    if (!(full in draft.files)) draft.put(full, full === "config.yaml" ? "rules: {}\n" : NEW(full));
    setName(undefined);
    open(full);
  }
  if (name !== undefined) {
    return (
      <Group gap="xs" align="end">
        <TextInput
          label="Name of the new file"
          placeholder="own/no-deploy.yaml"
          value={name}
          error={wrong}
          autoFocus
          onChange={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && add()}
        />
        <Button onClick={add}>Add</Button>
        <Button variant="default" onClick={() => setName(undefined)}>
          Cancel
        </Button>
      </Group>
    );
  }
  return (
    <Group gap="xs" align="end">
      {paths.length > 0 && (
        <NativeSelect label="File" data={paths} value={path ?? ""} onChange={(event) => open(event.currentTarget.value)} style={{ flex: 1, minWidth: 0 }} />
      )}
      <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setName("")}>
        New file
      </Button>
      {path !== undefined && (
        <Button
          variant="default"
          aria-label={`Take out ${path}`}
          onClick={() => {
            draft.put(path, null);
            open(undefined);
          }}
        >
          <IconTrash size={16} aria-hidden />
        </Button>
      )}
    </Group>
  );
}
