/** Field sets against sets of texts, fieldsV1 there and back, and every built-in kind once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { convert } from "../convert/convert.ts";
import { parseApiVersion } from "../object.ts";
import { schemaOf, schemaOfKind } from "../schema/schema.ts";
import { upstreamSamples } from "../testing/upstream.ts";
import { applyPatch, trackUpdate } from "./field-manager.ts";
import {
  difference,
  intersection,
  isEmpty,
  pathsOf,
  recursiveDifference,
  setOfPath,
  setsEqual,
  union,
  unionAll,
} from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { formatFieldsV1, parseFieldsV1, printPath } from "./fields-v1.ts";
import { applyTypes } from "./updater.ts";

const element = fc.constantFrom("f:a", "f:b", 'k:{"name":"x"}', "v:1");
const path = fc.array(element, { minLength: 1, maxLength: 3 });
const set = fc.array(path, { maxLength: 6 }).map((paths) => unionAll(paths.map(setOfPath)));

/** The obvious oracle: a set of texts. */
function texts(fields: FieldSet): Set<string> {
  return new Set(pathsOf(fields).map((p) => p.join("/")));
}

test("set operations agree with sets of texts", () => {
  fc.assert(
    fc.property(set, set, (a, b) => {
      const [x, y] = [texts(a), texts(b)];
      assert.deepEqual(texts(union(a, b)), x.union(y));
      assert.deepEqual(texts(intersection(a, b)), x.intersection(y));
      assert.deepEqual(texts(difference(a, b)), x.difference(y));
      const under = (text: string): boolean =>
        [...y].some((cut) => text === cut || text.startsWith(`${cut}/`));
      assert.deepEqual(
        texts(recursiveDifference(a, b)),
        new Set([...x].filter((text) => !under(text))),
      );
      assert.equal(setsEqual(a, b), x.symmetricDifference(y).size === 0);
      assert.equal(isEmpty(a), x.size === 0);
    }),
  );
});

test("fieldsV1 reads back as it was written", () => {
  fc.assert(
    fc.property(set, (fields) => {
      const parsed = parseFieldsV1(JSON.parse(JSON.stringify(formatFieldsV1(fields))));
      assert.ok(parsed !== undefined && setsEqual(parsed, fields));
    }),
  );
});

test("keys are put in order, so that one element has one text", () => {
  const parsed = parseFieldsV1({ 'k:{"protocol":"TCP","containerPort":80}': { "f:name": {} } });
  assert.deepEqual(Object.keys(formatFieldsV1(parsed ?? setOfPath([]))), [
    'k:{"containerPort":80,"protocol":"TCP"}',
  ]);
});

test("JSON that is no field set is refused", () => {
  for (const json of [
    null,
    [],
    { a: {} },
    { "f:a": 1 },
    { "k:x": {} },
    { "k:[]": {} },
    { "i:x": {} },
  ]) {
    assert.equal(parseFieldsV1(json), undefined, JSON.stringify(json));
  }
});

test("paths print as in upstream's messages", () => {
  const printed = printPath(["f:spec", 'k:{"port":80,"protocol":"TCP"}', "f:x", 'v:"y"', "i:3"]);
  assert.equal(printed, '.spec[port=80,protocol="TCP"].x[="y"][3]');
});

test("every built-in kind with every field set can be created, and applied without conflict", () => {
  for (const { name, object: stored } of upstreamSamples()) {
    const { apiVersion = "", kind = "" } = stored;
    const gv = parseApiVersion(apiVersion);
    if (stored.metadata?.name === undefined || gv === undefined) continue;
    const schema = schemaOfKind({ ...gv, kind });
    if (schema === undefined) continue;
    const { managedFields: _, ...metadata } = stored.metadata;
    const object = { ...stored, metadata };
    const types = applyTypes({ schema: () => schema, lookup: schemaOf, convert });
    const management = { types, apiVersion, subresource: "", resetFields: [] };
    const created = trackUpdate(management, {
      live: undefined,
      next: object,
      manager: "u",
      nowMs: 0,
    });
    const request = { live: created, manager: "m", force: false, nowMs: 0 };
    const shared = applyPatch(management, { ...request, applied: object });
    assert.equal(shared.object.metadata?.managedFields?.length, 2, name);
    const again = applyPatch(management, {
      ...request,
      live: shared.object,
      applied: object,
      nowMs: 9e9,
    });
    assert.equal(again.changed, false, name);
  }
});
