/** Field selectors as clients write them, and the fields resources have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compactFields } from "./compact-selector.ts";
import { parseFieldSelector, printFieldSelector, findRequiredValue } from "./field-selector.ts";
import { SelectorError } from "./label-selector.ts";
import { checkFieldSelector, fieldValue, selectableFields } from "./selectable-fields.ts";

const parsed: readonly (readonly [string, string])[] = [
  ["", ""],
  ["b=1,a!=2,c==3", "a!=2,b=1,c=3"],
  [",a=1,,", "a=1"],
  ["a=x\\,y\\=z\\\\", "a=x\\,y\\=z\\\\"],
  ["=", ""],
  ["a=!x", "a=!x"],
];

for (const [text, printed] of parsed) {
  test(`the field selector "${text}" reads as "${printed}"`, () => {
    assert.equal(printFieldSelector(parseFieldSelector(text)), printed);
  });
}

const refused: readonly (readonly [string, string])[] = [
  ["metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
  ["a=b=c", "invalid field selector: unescaped character in value: 61"],
  ["a=b\\c", "invalid field selector: invalid escape sequence: \\c"],
  ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
];

for (const [text, message] of refused) {
  test(`the field selector "${text}" is refused in upstream's words`, () => {
    assert.throws(() => parseFieldSelector(text), new SelectorError(message));
  });
}

test("a field selector holds when every term holds", () => {
  const get = (field: string): string => ({ a: "1", b: "2" })[field] ?? "";
  assert.equal(compactFields(parseFieldSelector("a=1,b!=3,c=")).matches(get), true);
  assert.equal(compactFields(parseFieldSelector("a=1,b!=2")).matches(get), false);
  assert.equal(findRequiredValue(parseFieldSelector("a=1,b!=2"), "a"), "1");
  assert.equal(findRequiredValue(parseFieldSelector("a=1,b!=2"), "b"), undefined);
});

test("a selector on a field the resource does not have is refused in upstream's words", () => {
  const check = (group: string, resource: string, text: string): string =>
    printFieldSelector(checkFieldSelector(group, resource, parseFieldSelector(text)));
  assert.equal(check("", "pods", "spec.host=n1"), "spec.nodeName=n1");
  assert.equal(check("events.k8s.io", "events", "regarding.name=p"), "involvedObject.name=p");
  assert.throws(() => check("", "pods", "x=1"), /^SelectorError: field label not supported: x$/);
  assert.throws(() => check("", "nodes", "metadata.namespace=a"), /not supported: metadata.name/);
  assert.throws(
    () => check("", "configmaps", "x=1"),
    /"x" is not a known field selector: only "metadata.name", "metadata.namespace"/,
  );
  assert.throws(() => check("batch", "jobs", "x=1"), /field label "x" not supported for Job/);
});

test("field values are texts, and absent ones are empty", () => {
  const pod = {
    metadata: { name: "p", namespace: "n" },
    spec: { nodeName: "node" },
    status: { podIPs: [{ ip: "10.0.0.1" }] },
  };
  const values = selectableFields("", "pods").map((field) => fieldValue("", "pods", pod, field));
  assert.deepEqual(values, ["p", "n", "node", "", "", "", "false", "", "10.0.0.1", "", "", ""]);
  const job = { status: { succeeded: 2 } };
  assert.equal(fieldValue("batch", "jobs", job, "status.successful"), "2");
  assert.equal(fieldValue("", "nodes", {}, "spec.unschedulable"), "false");
});

test("both versions of an event answer to the same field names", () => {
  const core = { involvedObject: { name: "p" }, source: { component: "kubelet" } };
  const events = { regarding: { name: "p" }, reportingController: "kubelet" };
  for (const event of [core, events]) {
    assert.equal(fieldValue("", "events", event, "involvedObject.name"), "p");
    assert.equal(fieldValue("", "events", event, "source"), "kubelet");
  }
});
