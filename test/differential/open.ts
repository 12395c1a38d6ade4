/**
 * Differences that are not fixed yet: golden/open.json lists where they are. The list may only become
 * shorter; `npm run differential -- --accept` writes what is left.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Difference } from "./compare.ts";

const file = join(dirname(fileURLToPath(import.meta.url)), "golden", "open.json");

export function readOpen(): ReadonlySet<string> {
  return new Set(JSON.parse(readFileSync(file, "utf8")) as readonly string[]);
}

export function writeOpen(differences: readonly Difference[]): void {
  const lines = differences.map(({ at }) => at).sort();
  writeFileSync(file, `${JSON.stringify(lines, undefined, 1)}\n`);
}
