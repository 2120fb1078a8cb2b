import { moment, relative, when } from "./time";

/** A moment in a list; its day and how long ago it was are in the tooltip. */
export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={`${moment(at)}, ${relative(at)}`} style={{ whiteSpace: "nowrap" }}>
    {when(at)}
  </time>
);
