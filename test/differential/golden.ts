/** Recorded answers of a stock server: one file per suite, one line per step, so that diffs read well. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Recorded } from "./exchange.ts";

type Answers = Readonly<Record<string, readonly Recorded[]>>;

const folder = join(dirname(fileURLToPath(import.meta.url)), "golden");
const fileOf = (suite: string): string => join(folder, `${suite}.json`);

export function readGolden(suite: string): Answers {
  return JSON.parse(readFileSync(fileOf(suite), "utf8")) as Answers;
}

export function writeGolden(suite: string, answers: Answers): void {
  const cases = Object.entries(answers).map(([name, steps]) => {
    const lines = steps.map((step) => JSON.stringify(step)).join(",\n");
    return `${JSON.stringify(name)}: [\n${lines}\n]`;
  });
  writeFileSync(fileOf(suite), `{\n${cases.join(",\n")}\n}\n`);
}
