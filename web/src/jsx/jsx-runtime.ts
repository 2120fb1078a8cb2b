// React's own runtime, with every text of the page made visible: the one way by which words of agents and of other people
// are shown. Values of fields stay as they are.
import * as react from "react/jsx-runtime";
import { visible } from "../parts/visible";

export type { JSX } from "react/jsx-runtime";
export { Fragment } from "react/jsx-runtime";

const shown = (one: unknown): unknown =>
  typeof one === "string" ? visible(one) : Array.isArray(one) ? one.map(shown) : one;

/** Make the children visible, and the names that a browser shows. */
function readable(props: object): object {
  const found: Record<string, unknown> = { ...props };
  for (const name of ["children", "title", "aria-label", "label", "placeholder"]) if (name in found) found[name] = shown(found[name]);
  return found;
}

export const jsx: typeof react.jsx = (type, props, key) => react.jsx(type, readable(props as object), key);
export const jsxs: typeof react.jsxs = (type, props, key) => react.jsxs(type, readable(props as object), key);
