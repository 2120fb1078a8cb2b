import { Diff, Hunk, parseDiff } from "react-diff-view";
import "react-diff-view/style/index.css";
import type { Question } from "./question";

/** What an edit changes in a file. */
export function EditView({ edit: { path, diff } }: { edit: Question["edits"][number] }) {
  const [file] = diff ? parseDiff(`diff --git a/file b/file\n${diff}\n`) : [];
  return (
    <figure className="edit">
      <figcaption className="mono">{path}</figcaption>
      {file ? (
        <Diff viewType="unified" diffType="modify" hunks={file.hunks}>
          {(hunks) => hunks.map((hunk) => <Hunk key={hunk.content} hunk={hunk} />)}
        </Diff>
      ) : (
        <p className="muted">The change is too long to show here.</p>
      )}
    </figure>
  );
}
