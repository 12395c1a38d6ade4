/** Decoding against Kubernetes' own objects with every field set. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkFields } from "./decode.ts";
import { parseApiVersion } from "../object.ts";
import { upstreamSamples } from "../testing/upstream.ts";
import { schemaOfKind } from "./schema.ts";

test("every known kind with every field set decodes to itself", () => {
  let checked = 0;
  for (const { name, object } of upstreamSamples()) {
    const gv = parseApiVersion(object.apiVersion ?? "");
    const schema = gv && schemaOfKind({ ...gv, kind: object.kind ?? "" });
    if (schema === undefined) continue;
    assert.deepEqual(checkFields(object, schema), { kind: "ok", object, unknownFields: [] }, name);
    checked++;
  }
  assert.ok(checked >= 100, `${checked} kinds`);
});
