/**
 * Generates `src/core/api/gen/` (ignored by git): types.ts, schema.json, descriptions.json.
 *
 * In     the model classes of @kubernetes/client-node and the overlay beside this file.
 * Out    the same bytes for the same input; nothing is written when the stamp says so already.
 * Cost   about half a second; the stamp alone about 20 ms.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { joinDefinitions } from "./definitions.ts";
import { listModels, readModel } from "./models.ts";
import { printDescriptions, printSchema } from "./tables.ts";
import { printTypes } from "./typescript.ts";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const target = join(root, "src", "core", "api", "gen");
const stampFile = join(target, "stamp");

const stamp = inputStamp();
if (readStamp() !== stamp) generate();

function generate(): void {
  const definitions = joinDefinitions(
    new Map(listModels(root).map((name) => [name, readModel(root, name)])),
  );
  mkdirSync(target, { recursive: true });
  write("types.ts", printTypes(definitions));
  write("schema.json", printSchema(definitions));
  write("descriptions.json", printDescriptions(definitions));
  // Last, so that a generation cut short is done again.
  write("stamp", stamp);
  console.log(`generate: ${definitions.length} definitions -> src/core/api/gen`);
}

/** Hash of this generator's own text and the library's version: all that the output depends on. */
function inputStamp(): string {
  const hash = createHash("sha256");
  const library = join(root, "node_modules", "@kubernetes", "client-node", "package.json");
  hash.update(readFileSync(library));
  const sources = readdirSync(here, { recursive: true, encoding: "utf8" });
  for (const name of sources.filter(isInput).sort()) {
    hash.update(name).update(readFileSync(join(here, name)));
  }
  return hash.digest("hex");
}

function isInput(name: string): boolean {
  return name.endsWith(".txt") || (name.endsWith(".ts") && !name.endsWith(".test.ts"));
}

function readStamp(): string {
  try {
    return readFileSync(stampFile, "utf8");
  } catch {
    return "";
  }
}

/** Renamed into place: a reader never sees half a file. */
function write(name: string, text: string): void {
  const path = join(target, name);
  writeFileSync(`${path}.part`, text);
  renameSync(`${path}.part`, path);
}
