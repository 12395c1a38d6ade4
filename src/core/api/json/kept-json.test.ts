/** Spellings kept beside values. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { carrySpelling, keepSpelling, keepText, objectText, spelledJson } from "./kept-json.ts";

test("the last field of that name is kept, without white space", () => {
  const text =
    '{"x":{"data":1},"data":7,"d\\u0061ta" : { "a" : 1.0 , "b":[ {"data":"}, ,"} ] } ,"y":0}';
  const object = { kind: "ControllerRevision", ...JSON.parse(text) };
  keepSpelling(object, object.kind, text);
  assert.equal(spelledJson(object.data), '{"a":1.0,"b":[{"data":"}, ,"}]}');
  assert.ok(objectText(object).endsWith(',"data":{"a":1.0,"b":[{"data":"}, ,"}]}}'));
});

test("a copy is written as its original only while it says the same", () => {
  const kind = "ControllerRevision";
  const data = { a: 2 };
  keepText(data, '{"a": 2.0}');
  const [same, other] = [{ a: 2 }, { a: 3 }];
  carrySpelling({ kind, data }, { kind, data: same });
  carrySpelling({ kind, data }, { kind, data: other });
  assert.deepEqual([data, same, other].map(spelledJson), ['{"a":2.0}', '{"a":2.0}', '{"a":3}']);
});

test("other kinds keep nothing", () => {
  const object = { kind: "ConfigMap", data: { a: "<" } };
  keepSpelling(object, object.kind, '{"data":{"a":"<" }}');
  assert.equal(objectText(object), '{"kind":"ConfigMap","data":{"a":"<"}}');
});
