// Before the first paint, so that a dark page does not flash white. A file, since the page's policy allows no inline script.
(() => {
  const kept = localStorage.getItem("baton-color-scheme");
  const dark = kept === "dark" || (kept !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
