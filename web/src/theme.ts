import { createTheme, Loader } from "@mantine/core";

/** Mantine's part of the look; the colours themselves are in `theme.css`. */
export const theme = createTheme({
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "var(--mono)",
  defaultRadius: 8,
  primaryColor: "blue",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "20px" }, h2: { fontSize: "16px" }, h3: { fontSize: "14px" } } },
  // A label on an element without a role is not read aloud.
  components: { Loader: Loader.extend({ defaultProps: { role: "status" } }) },
});
