// Writes the licences of everything that is bundled into the page beside it.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folders = execFileSync("npm", ["ls", "--omit=dev", "--all", "--parseable"], { encoding: "utf8" }).trim().split("\n").slice(1);
const parts = [];
for (const folder of [...new Set(folders)].sort()) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  parts.push(`${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}`);
}
const fonts = join("src", "fonts", "OFL.txt");
if (existsSync(fonts)) parts.push(`Geist, Geist Mono (OFL-1.1)\n\n${readFileSync(fonts, "utf8").trim()}`);
writeFileSync(join("..", "static", "THIRD-PARTY-LICENCES.txt"), `${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`);
