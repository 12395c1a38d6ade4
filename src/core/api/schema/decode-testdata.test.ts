/** Decoding against Kubernetes' own objects with every field set, where the machine has them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { checkFields } from "./decode.ts";
import { parseApiVersion, type KubeObject } from "../object.ts";
import { schemaOfKind } from "./schema.ts";

const root = join(import.meta.dirname, "..", "..", "..", "..");
const data = process.env["PILOTHOUSE_TESTDATA"] ?? join(root, "..", "shared", "data");
const folder = join(data, "kubernetes-1.36", "api-testdata");
const skip = existsSync(folder) ? false : `no ${folder}; set PILOTHOUSE_TESTDATA`;

test("every known kind with every field set decodes to itself", { skip }, () => {
  let checked = 0;
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".json"))) {
    // Kubernetes' own test data.
    const object = JSON.parse(readFileSync(join(folder, name), "utf8")) as KubeObject;
    const gv = parseApiVersion(object.apiVersion ?? "");
    const schema = gv && schemaOfKind({ ...gv, kind: object.kind ?? "" });
    if (schema === undefined) continue;
    assert.deepEqual(checkFields(object, schema), { kind: "ok", object, unknownFields: [] }, name);
    checked++;
  }
  assert.ok(checked >= 100, `${checked} kinds`);
});
