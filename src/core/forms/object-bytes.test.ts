/** The stored form of objects whose bytes others compare. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeObject } from "./object-bytes.ts";

test("the stored data of a ControllerRevision has Go's bytes", () => {
  const data = JSON.parse(
    '{"spec":{"template":{"$patch":"replace","note":"a \\u003c b","l":{"10":"","9":""}}}}',
  );
  const stored = encodeObject({
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {},
    data,
  });
  const text = new TextDecoder().decode(stored);
  assert.ok(text.includes(String.raw`"note":"a \u003c b","l":{"10":"","9":""}`), text);
});
