import "react-diff-view/style/index.css";
import "./diff.css";
import { Button, Group, Loader, Text, Textarea } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { type ChangeData, Diff, type FileData, type GutterOptions, getChangeKey, Hunk, isDelete, parseDiff } from "react-diff-view";
import { Failed } from "../../parts/Failed";
import { visible } from "../../parts/visible";
import type { Comments } from "./comments";
import { diffPagesQuery } from "./queries";

/** Return the files of a difference by their paths; of one that was cut, the last file is left out. */
export function filesOf(diff: string, cut: boolean): Map<string, FileData> {
  let files: FileData[];
  try {
    files = parseDiff(visible(diff));
  } catch {
    return new Map(); // what git printed is not what the parser knows; each file's own page is asked for
  }
  const whole = cut ? files.slice(0, -1) : files;
  return new Map(whole.map((file) => [file.type === "delete" ? file.oldPath : file.newPath, file]));
}

/** The difference of one file that the server has only in part: its runner is asked for it, a page at a time. */
export function PagedDiff({ job, path, comments }: { job: string; path: string; comments: Comments }) {
  const found = useInfiniteQuery(diffPagesQuery(job, path));
  const text = found.data?.pages.map((page) => page.text).join("") ?? "";
  const file = [...filesOf(text, false).values()][0];
  return (
    <>
      {found.isPending && <Loader aria-label="Loading" m="sm" />}
      <Failed error={found.error} again={() => void found.refetch()} />
      {file && <FileDiff stored={file} path={path} comments={comments} />}
      {text && !file && <pre className="agent-text mono">{text}</pre>}
      {found.hasNextPage && (
        <Button size="compact-xs" variant="default" m="xs" loading={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more of this file
        </Button>
      )}
    </>
  );
}

/** The difference of one file; a line of what the job left can be commented. */
export function FileDiff({ stored, path, comments }: { path: string; stored: FileData; comments: Comments }) {
  const [open, setOpen] = useState<ChangeData>();
  if (stored.isBinary || stored.hunks.length === 0) return <Text c="dimmed">There are no lines to show.</Text>;
  const gutter = ({ change, side, renderDefault }: GutterOptions): ReactNode => {
    const line = lineOf(change);
    return side === "new" && line ? (
      <button type="button" className="diff-line-number" aria-label={`Comment on line ${line}`} onClick={() => setOpen(change)}>
        {line}
      </button>
    ) : (
      renderDefault()
    );
  };
  return (
    <div className="diff-scroll" tabIndex={0} role="region" aria-label={`Difference of ${path}`}>
      <Diff viewType="unified" diffType={stored.type} hunks={stored.hunks} renderGutter={gutter} widgets={widgets()}>
        {(hunks) => hunks.map((hunk) => <Hunk key={hunk.content} hunk={hunk} />)}
      </Diff>
    </div>
  );

  function widgets(): Record<string, ReactNode> {
    const found: Record<string, ReactNode> = {};
    const mine = comments.all.filter((comment) => comment.file === path);
    for (const change of stored.hunks.flatMap((hunk) => hunk.changes)) {
      const line = lineOf(change);
      const said = mine.filter((comment) => comment.line === line);
      const writes = open !== undefined && getChangeKey(open) === getChangeKey(change);
      if (!line || (said.length === 0 && !writes)) continue;
      found[getChangeKey(change)] = (
        <div className="diff-comment">
          {said.map((comment) => (
            <p key={comment.text}>{comment.text}</p>
          ))}
          {writes && (
            <CommentForm
              line={line}
              close={() => setOpen(undefined)}
              send={(text) => {
                comments.add({ file: path, line, text });
                setOpen(undefined);
              }}
            />
          )}
        </div>
      );
    }
    return found;
  }
}

/** The number of a line as the job left it, 0 for one that it removed. */
function lineOf(change: ChangeData): number {
  if (isDelete(change)) return 0;
  return change.type === "insert" ? change.lineNumber : change.newLineNumber;
}

function CommentForm({ line, send, close }: { line: number; send: (text: string) => void; close: () => void }) {
  const [text, setText] = useState("");
  return (
    <>
      <Textarea autosize autoFocus minRows={2} maxLength={8_000} label={`Comment on line ${line}; it is sent with your reply`} value={text} onChange={(event) => setText(event.currentTarget.value)} />
      <Group mt={4}>
        <Button size="compact-xs" disabled={!text.trim()} onClick={() => send(text.trim())}>
          Add
        </Button>
        <Button size="compact-xs" variant="default" onClick={close}>
          Close
        </Button>
      </Group>
    </>
  );
}
