/** A list with its filters, kept under a name; `path` is below `/ui`. */
export interface View {
  name: string;
  path: string;
}

const KEY = "baton-views";

/** The views that were kept in this browser. */
export function viewsKept(): View[] {
  return JSON.parse(localStorage.getItem(KEY) ?? "[]") as View[];
}

export function keepViews(views: View[]): View[] {
  localStorage.setItem(KEY, JSON.stringify(views));
  return views;
}
