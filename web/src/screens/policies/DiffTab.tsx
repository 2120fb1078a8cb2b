import "react-diff-view/style/index.css";
import { Loader, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Diff, Hunk, parseDiff } from "react-diff-view";
import { Failed } from "../../parts/Failed";
import { testQuery, type Files, type Place } from "./queries";

/** What a draft changes in the version in force, file by file. */
export function DiffTab({ place, files }: { place: Place; files: Files }) {
  const { data, error, refetch } = useQuery(testQuery(place, files));
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loader aria-label="Comparing" />;
  const changes = Object.entries(data.changes);
  if (changes.length === 0) return <p className="panel muted">The draft equals the active version. Change something under “Edit”.</p>;
  return (
    <Stack gap="md">
      {changes.map(([path, text]) => (
        <section key={path} className="panel" style={{ padding: 0, overflowX: "auto" }} aria-label={path}>
          <h2 className="small mono" style={{ padding: "8px 12px" }}>
            {path}
          </h2>
          {parseDiff(`diff --git a/${path} b/${path}\n${text}\n`).map((file) => (
            <Diff key={path} viewType="unified" diffType={file.type} hunks={file.hunks}>
              {(hunks) => hunks.map((hunk) => <Hunk key={hunk.content} hunk={hunk} />)}
            </Diff>
          ))}
        </section>
      ))}
    </Stack>
  );
}
