// Controls but tabs and ends of lines, Unicode's directions, joiners, tags and fillers, and halves of characters: as in
// app/baton/lib/text/visible.py.
const UNSEEN =
  /\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

const escaped = (found: string) =>
  [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** Write what steers, turns or hides the text around it as its escape: `\u202e`. */
export const visible = (text: string) => text.replace(UNSEEN, escaped);
