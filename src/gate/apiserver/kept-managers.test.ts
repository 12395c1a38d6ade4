/** What mutating admission may do to managedFields and to owners, by create, update, patch and apply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionPlugin } from "#admission/admission.ts";
import type { AnyObject } from "#api/object.ts";
import { type Answer, ask, openPlane } from "./testing/plane.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const broken =
  ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ";
const set = { fieldsType: "FieldsV1", fieldsV1: { "f:data": {} } };
const good = { manager: "x", operation: "Update", apiVersion: "v1", ...set };

/** What a plugin leaves there, and what is said of it; undefined: it stays. */
const cases: readonly (readonly [entries: unknown, fault: string | undefined])[] = [
  [[{ ...good, operation: "Dance" }], "operation must be `Apply` or `Update`"],
  [[{}], "operation must be `Apply` or `Update`"],
  [[good, { ...good, operation: undefined }], "operation must be `Apply` or `Update`"],
  [[{ ...good, apiVersion: "" }], "apiVersion must not be empty"],
  [[{ ...good, fieldsType: "" }], "missing fieldsType in managed fields entry 0"],
  [
    [good, { ...good, manager: "y", fieldsType: "V2" }],
    'invalid fieldsType "V2" in managed fields entry 1',
  ],
  [
    [{ ...good, fieldsV1: { wrong: {} } }],
    "error decoding versioned set from managed fields entry 0",
  ],
  [[good], undefined],
  [[], undefined],
];

function leaving(metadata: object): AdmissionPlugin {
  return {
    name: "Leaving",
    mutate: ({ object }) => ({ ...object, metadata: { ...object?.metadata, ...metadata } }),
  };
}

const map: AnyObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a" },
  data: { k: "v" },
};

/** The same object by each way to write; the first creates it. */
const writes: readonly (readonly [method: string, path: string, type: string, body: object])[] = [
  ["POST", maps, "application/json", map],
  ["PUT", `${maps}/a`, "application/json", { ...map, data: { k: "w" } }],
  ["PATCH", `${maps}/a`, "application/merge-patch+json", { data: { k: "x" } }],
  ["PATCH", `${maps}/a?fieldManager=m&force=true`, "application/apply-patch+yaml", map],
];

async function answers(plugin: AdmissionPlugin): Promise<readonly Answer[]> {
  const plane = await openPlane({ plugins: [plugin] });
  try {
    const given: Answer[] = [];
    for (const [method, path, type, body] of writes) {
      given.push(await ask(plane, method, path, { type, body }));
    }
    return given;
  } finally {
    await plane.close();
  }
}

function warningOf({ headers }: Answer): string {
  return String(headers["warning"] ?? "").replaceAll("\\", "");
}

for (const [entries, fault] of cases) {
  test(`a plugin leaves managedFields ${JSON.stringify(entries)}`, async () => {
    for (const answer of await answers(leaving({ managedFields: entries }))) {
      assert.ok(answer.status < 300, answer.text);
      const kept = answer.json.metadata?.managedFields ?? [];
      if (fault === undefined) {
        assert.equal(warningOf(answer), "");
        continue;
      }
      assert.ok(warningOf(answer).includes(broken + fault), warningOf(answer));
      assert.ok(kept.every(({ operation }) => operation === "Update" || operation === "Apply"));
      assert.ok(kept.length > 0);
    }
  });
}

test("a plugin names an owner twice: one of them stays, with a warning of its own", async () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  for (const answer of await answers(leaving({ ownerReferences: [owner, owner] }))) {
    assert.ok(answer.status < 300, answer.text);
    assert.deepEqual(answer.json.metadata?.ownerReferences, [owner]);
    assert.match(
      warningOf(answer),
      /duplicate entries after mutating admission happens; .*UID\(s\) observed: u"/,
    );
  }
});
