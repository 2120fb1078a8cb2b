import { useState } from "react";

/** A comment on a line of a file, as the job left it. */
export interface Comment {
  file: string;
  line: number;
  text: string;
}

export interface Comments {
  all: Comment[];
  add: (comment: Comment) => void;
  remove: (comment: Comment) => void;
  clear: () => void;
}

/** The comments that wait to be sent with the reply. */
export function useComments(): Comments {
  const [all, setAll] = useState<Comment[]>([]);
  return {
    all,
    add: (comment) => setAll((before) => [...before, comment]),
    remove: (comment) => setAll((before) => before.filter((one) => one !== comment)),
    clear: () => setAll([]),
  };
}
