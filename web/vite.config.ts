import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server serves the page below /ui/ and puts a fresh nonce in place of `{{nonce}}` (app/baton/operate/console_pages.py).
export default defineConfig({
  base: "/ui/",
  plugins: [react({ jsxImportSource: "visible" })],
  resolve: { alias: { visible: new URL("src/jsx", import.meta.url).pathname } },
  html: { cspNonce: "{{nonce}}" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  server: { proxy: { "^/(?!ui|@|src|node_modules)": "http://127.0.0.1:8080" } },
});
