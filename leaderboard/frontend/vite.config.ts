import { defineConfig } from "vite";

// One script and one style sheet, both self-contained: the page must open from disk, so there is nothing to fetch.
export default defineConfig({
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../static",
    emptyOutDir: false,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 200_000,
    cssCodeSplit: false,
    modulePreload: false,
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "tliveLeaderboard", fileName: () => "page.js", cssFileName: "page" },
  },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
});
