/** Every kind of the upstream test data decodes from protobuf to exactly its JSON. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { builtinResources } from "#api/resources.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { decodeProtobuf } from "./decode.ts";

const folder = join(
  process.env["PILOTHOUSE_TESTDATA"] ??
    join(import.meta.dirname, "..", "..", "..", "..", "shared", "data"),
  "kubernetes-1.36",
  "api-testdata",
);
const skip = existsSync(folder)
  ? false
  : `${folder} is absent: upstream's encoded objects are not here`;

for (const info of builtinResources()) {
  const { group, version, kind } = info;
  const base = join(folder, `${group === "" ? "core" : group}.${version}.${kind}`);
  test(`${group}/${version} ${kind} decodes from protobuf to its JSON`, { skip }, (context) => {
    if (!existsSync(`${base}.pb`)) return context.skip("no sample of this kind");
    const expected = JSON.parse(readFileSync(`${base}.json`, "utf8"));
    const envelope = readEnvelope(readFileSync(`${base}.pb`));
    const { apiVersion, kind: named } = envelope;
    const decoded = { apiVersion, kind: named, ...decodeProtobuf(info, envelope.raw) };
    assert.deepEqual(decoded, expected);
  });
}
