/** A list that is encoded in turns is, byte for byte, the list encoded at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stringify } from "yaml";
import { Pace } from "#platform/pace.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import type { Negotiated } from "./negotiate.ts";
import { encodeObject, yamlOptions } from "./respond.ts";
import { wholeList } from "./whole-list.ts";

const forms: readonly Negotiated[] = [
  { mediaType: "application/json", isPretty: false },
  { mediaType: "application/json", isPretty: true },
  { mediaType: "application/yaml", isPretty: false },
];

const objectAt = (at: number): object => ({
  metadata: { name: `o${at}`, labels: { a: "yes", "b/c": "1" }, empty: {} },
  data: { text: 'line\n  "two"\n', list: [1, [2, {}], []], z: null },
});

/** Single objects that are large are YAML in flow style; lists are always in block style. */
function encodeWhole(list: object, form: Negotiated): string {
  if (form.mediaType === "application/yaml") return stringify(list, yamlOptions);
  return Buffer.from(encodeObject(list, form)).toString();
}

for (const form of forms) {
  test(`${form.mediaType}${form.isPretty ? ", indented" : ""}: the same bytes as at once`, async () => {
    for (const count of [0, 1, 3, 600]) {
      const items = Array.from({ length: count }, (_, at) => objectAt(at));
      const head = {
        kind: "List",
        apiVersion: "v1",
        metadata: { resourceVersion: "7" },
        items: [],
      };
      const clock = new FakeClock();
      const entries = { count, entry: objectAt };
      const body = await wholeList(head, "items", entries, form, new Pace(clock));
      const whole = encodeWhole({ ...head, items }, form);
      assert.equal(Buffer.concat(body).toString(), whole);
      assert.ok(count < 600 || clock.turns > 1, `${clock.turns} turns`);
    }
  });
}
