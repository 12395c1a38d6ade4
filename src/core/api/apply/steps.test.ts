/** Objects with hundreds of managers of hundreds of paths each: what is done for them is bounded, step by step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject, ManagedFieldsEntry } from "../object.ts";
import { ApiError } from "../status.ts";
import { applyingPatch, applyPatch, trackingUpdate, trackUpdate } from "./field-manager.ts";
import type { Steps } from "./steps.ts";
import { managementOf, t0 } from "./testing/server.ts";

const configMaps = managementOf("ConfigMap", "v1");
const managers = 300;
const keys = 200;
/** Of one step, and of one answer. */
const stepPathsMax = 8_192;
const fieldsTold = 2_000;

const recordOf = <T>(name: (at: number) => string, value: T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: keys }, (_, at) => [name(at), value]));

function configMap(value: string, managedFields?: readonly ManagedFieldsEntry[]): AnyObject {
  const metadata = managedFields === undefined ? { name: "a" } : { name: "a", managedFields };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: recordOf((at) => `k${at}`, value) };
}

function shared(): AnyObject {
  const fieldsV1 = { "f:data": recordOf((at) => `f:k${at}`, {}) };
  const entry = { operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 } as const;
  const names = Array.from({ length: managers }, (_, at) => `m${String(at).padStart(3, "0")}`);
  return configMap(
    "a",
    names.map((manager) => ({ manager, time: "2026-01-01T00:00:00Z", ...entry })),
  );
}

/** The request of the next manager: every key of all the others at another value. */
const conflicting = (force: boolean) => ({
  live: shared(),
  applied: configMap("b"),
  manager: "zz",
  force,
  nowMs: t0,
});

function countSteps<T>(steps: Steps<T>): number {
  for (let count = 1; ; count++) if (steps.next().done === true) return count;
}

function refusal(apply: () => unknown): ApiError {
  try {
    apply();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error;
  }
  return assert.fail("applied");
}

/** What is walked three times, of all managers: decoding, the schemas, the change. */
const walks = 3 * Math.floor((managers * keys) / (stepPathsMax + keys + 1));

test("an apply over 300 managers of 200 fields gives way between steps of 8,192 paths", () => {
  const steps = countSteps(applyingPatch(configMaps, conflicting(true)));
  assert.ok(steps > walks, `${steps} steps`);
  assert.ok(steps < 2 * walks, `${steps} steps`);
});

test("so does an update", () => {
  const update = { live: shared(), next: configMap("b"), manager: "zz", nowMs: t0 };
  const steps = countSteps(trackingUpdate(configMaps, update));
  assert.ok(steps > walks, `${steps} steps`);
});

test("managers that own little are one step, however many", () => {
  const live = shared();
  const few = live.metadata?.managedFields?.slice(0, 5) ?? [];
  const update = { live: configMap("a", few), next: configMap("b"), manager: "zz", nowMs: t0 };
  assert.equal(countSteps(trackingUpdate(configMaps, update)), 1);
  assert.equal(trackUpdate(configMaps, update).metadata?.managedFields?.length, 1);
});

test("of 60,000 conflicts the first 2,000 are listed and the others counted", () => {
  const { message, status } = refusal(() => applyPatch(configMaps, conflicting(false)));
  const causes = status.details?.causes ?? [];
  assert.equal(causes.length, fieldsTold);
  assert.deepEqual(causes[0], {
    reason: "FieldManagerConflict",
    message: 'conflict with "m000"',
    field: ".data.k0",
  });
  const lines = message.split("\n");
  assert.equal(lines[0], 'Apply failed with 60000 conflicts: conflicts with "m000":');
  assert.equal(lines.at(-1), "and 58000 more conflicts with 290 other managers");
  assert.equal(lines.length, 10 + fieldsTold + 1);
});
