const HOME = "/ui/";

/** The page to go to after signing in, as the address names it; home where it names none of the console. */
export function pageOf(wanted: string | null): string {
  if (!wanted) return HOME;
  const url = URL.canParse(wanted, window.location.origin) ? new URL(wanted, window.location.origin) : undefined;
  const inside = url?.origin === window.location.origin && url.pathname.startsWith(HOME) && !url.pathname.startsWith("/ui/sign-in");
  return inside ? url.pathname + url.search + url.hash : HOME;
}

/** The page on which somebody was told to sign in first. */
export function wantedPage(): string {
  return pageOf(new URLSearchParams(window.location.search).get("return_to"));
}
