import { Text } from "@mantine/core";
import { useMemo } from "react";
import type { Comments } from "./comments";
import { FileDiff, filesOf } from "./FileDiff";
import type { Change } from "./queries";

const OPEN_LINES = 200;
const KINDS: Record<string, string> = { "120000": " · symbolic link", "160000": " · nested repository", "100755": " · executable" };

/** The files that a job changed, each folded unless it is short, with its difference. */
export function JobDiff({ job, change, comments }: { job: string; change: Change; comments: Comments }) {
  const stored = useMemo(() => filesOf(change.diff ?? "", change.truncated ?? false), [change]);
  const files = change.files ?? [];
  return (
    <div>
      {files.map((file) => {
        const lines = (file.added ?? 0) + (file.deleted ?? 0);
        return (
          <details key={file.path} className="diff-file" open={lines <= OPEN_LINES && files.length <= 5}>
            <summary>
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
            </summary>
            <FileDiff job={job} path={file.path} stored={stored.get(file.path)} comments={comments} />
          </details>
        );
      })}
      {(change.changed ?? 0) > files.length && (
        <Text size="sm" c="dimmed">
          … and {(change.changed ?? 0) - files.length} more files
        </Text>
      )}
      {(change.notes ?? []).map((note) => (
        <Text key={note} size="sm" c="dimmed">
          Left out: {note}
        </Text>
      ))}
    </div>
  );
}
