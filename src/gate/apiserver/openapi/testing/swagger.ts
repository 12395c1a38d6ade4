/** For tests: the swagger of a real server, where the machine has it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "#api/object.ts";

export interface Swagger {
  readonly definitions: Readonly<Record<string, JsonObject>>;
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

const root = fileURLToPath(new URL("../../../../..", import.meta.url));
const folder = process.env["PILOTHOUSE_TESTDATA"] ?? join(root, "..", "shared", "data");
const file = join(folder, "kubernetes-1.36", "swagger.json");

/** What a test passes as `skip`: a reason, or false. */
export const swaggerMissing: string | false = existsSync(file)
  ? false
  : `no ${file}; set PILOTHOUSE_TESTDATA`;

export function readSwagger(): Swagger {
  // The file is Kubernetes' own.
  return JSON.parse(readFileSync(file, "utf8")) as Swagger;
}
