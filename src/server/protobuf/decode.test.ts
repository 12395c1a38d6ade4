/** Every kind of the upstream test data decodes from protobuf to exactly its JSON. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { builtinResources } from "#api/schema/resources.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { decodeProtobuf } from "./decode.ts";
import { samplePath, withoutSamples } from "./testing/upstream-samples.ts";

for (const info of builtinResources()) {
  const { group, version, kind } = info;
  const base = samplePath(info);
  test(
    `${group}/${version} ${kind} decodes from protobuf to its JSON`,
    { skip: withoutSamples },
    (context) => {
      if (base === undefined) return context.skip("no sample of this kind");
      const expected = JSON.parse(readFileSync(`${base}.json`, "utf8"));
      const envelope = readEnvelope(readFileSync(`${base}.pb`));
      const { apiVersion, kind: named } = envelope;
      const decoded = { apiVersion, kind: named, ...decodeProtobuf(info, envelope.raw) };
      assert.deepEqual(decoded, expected);
    },
  );
}
