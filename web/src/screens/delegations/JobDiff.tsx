import { Button, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { Failed } from "../../parts/Failed";
import type { Comments } from "./comments";
import { FileDiff, filesOf, PagedDiff } from "./FileDiff";
import { type Change, diffPagesQuery } from "./queries";

const OPEN_LINES = 200;
const KINDS: Record<string, string> = { "120000": " · symbolic link", "160000": " · nested repository", "100755": " · executable" };

/** The files that a job changed, each folded unless it is short; what the server lacks of a difference comes from the runner. */
export function JobDiff({ job, change, comments }: { job: string; change: Change; comments: Comments }) {
  const stored = useMemo(() => filesOf(change.diff ?? "", change.truncated ?? false), [change]);
  const files = change.files ?? [];
  const more = (change.changed ?? 0) - files.length;
  return (
    <div>
      {files.map((file) => {
        const lines = (file.added ?? 0) + (file.deleted ?? 0);
        const here = stored.get(file.path);
        return (
          <Folded key={file.path} open={here !== undefined && lines <= OPEN_LINES && files.length <= 5} title={<FileTitle file={file} />}>
            {() => (here ? <FileDiff path={file.path} stored={here} comments={comments} /> : <PagedDiff job={job} path={file.path} comments={comments} />)}
          </Folded>
        );
      })}
      {more > 0 && (
        <Folded title={`… and ${more} more ${more === 1 ? "file" : "files"}`} open={false}>
          {() => <Rest job={job} known={new Set(files.map((file) => file.path))} comments={comments} />}
        </Folded>
      )}
      {(change.notes ?? []).map((note) => (
        <Text key={note} size="sm" c="dimmed">
          Left out: {note}
        </Text>
      ))}
    </div>
  );
}

/** A folded part, whose content is made when it is opened first. */
function Folded({ title, open, children }: { title: ReactNode; open: boolean; children: () => ReactNode }) {
  const [opened, setOpened] = useState(open);
  return (
    <details className="diff-file" open={open} onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>{title}</summary>
      {opened && children()}
    </details>
  );
}

function FileTitle({ file }: { file: NonNullable<Change["files"]>[number] }) {
  return (
    <>
      <span className="mono">{file.path}</span>{" "}
      <span className="muted">
        {file.change}
        {KINDS[file.mode] ?? ""} ·{" "}
        {file.added == null ? (
          "binary"
        ) : (
          <>
            <span style={{ color: "var(--allow)" }}>+{file.added}</span> <span style={{ color: "var(--deny)" }}>−{file.deleted}</span>
          </>
        )}
      </span>
    </>
  );
}

/** The files that the list does not name, as the pages of the whole difference bring them. */
function Rest({ job, known, comments }: { job: string; known: Set<string>; comments: Comments }) {
  const found = useInfiniteQuery(diffPagesQuery(job, ""));
  const text = found.data?.pages.map((page) => page.text).join("") ?? "";
  const files = useMemo(() => [...filesOf(text, found.hasNextPage)].filter(([path]) => !known.has(path)), [text, found.hasNextPage, known]);
  return (
    <div style={{ padding: 8 }}>
      <Failed error={found.error} again={() => void found.refetch()} />
      {files.map(([path, file]) => (
        <Folded key={path} open={false} title={<span className="mono">{path}</span>}>
          {() => <FileDiff path={path} stored={file} comments={comments} />}
        </Folded>
      ))}
      {found.hasNextPage && (
        <Button size="compact-xs" variant="default" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </div>
  );
}
