/**
 * Patches of random shapes grown to hundreds of kilobytes: none takes more CPU time per byte than linear
 * work does. The bound is some thirty times what was measured (0.17 us at most), and a tenth of what work
 * with each element against each other takes.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyPatch, trackUpdate, type FieldManagement } from "#api/apply/field-manager.ts";
import { applyTypes } from "#api/apply/updater.ts";
import { applyJsonPatch } from "#api/patch/json-patch.ts";
import { applyMergePatch } from "#api/patch/merge-patch.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { schemaOf, schemaOfKind } from "#api/schema/schema.ts";
import { ApiError } from "#api/status.ts";
import { strategicMergePatch } from "#api/patch/strategic-merge.ts";

const usPerByteMax = 5;
const bytesMin = 100_000;
const kind = { group: "", version: "v1", kind: "Pod" };
const schema = schemaOfKind(kind);
assert.ok(schema !== undefined);
const podSchema = schema;
const types = applyTypes({
  schema: () => podSchema,
  lookup: schemaOf,
  convert: (object) => object,
});
const management: FieldManagement = { types, apiVersion: "v1", subresource: "", resetFields: [] };

/** How the lists of the two sides meet: which name the i-th of n elements has. */
const namings: Readonly<Record<string, (i: number, n: number) => string>> = {
  same: (i) => `n${i}`,
  backwards: (i, n) => `n${n - i}`,
  shifted: (i, n) => `n${(i + (n >> 1)) % n}`,
  other: (i) => `m${i}`,
  one: () => "n",
};

const listed = {
  ownerReferences: (name: string) => ({ apiVersion: "v1", kind: "A", name, uid: name }),
  finalizers: (name: string) => `a.b/${name}`,
} as const;
const podLists = {
  containers: (name: string) => ({ name, image: "i" }),
  tolerations: (name: string) => ({ key: name, operator: "Exists" }),
  volumes: (name: string) => ({ name, emptyDir: {} }),
  hostAliases: (name: string) => ({ ip: name, hostnames: ["a"] }),
} as const;

const naming = fc.constantFrom(...Object.keys(namings));
const side = fc.record({
  metadata: fc.uniqueArray(fc.constantFrom(...(Object.keys(listed) as (keyof typeof listed)[]))),
  spec: fc.uniqueArray(fc.constantFrom(...(Object.keys(podLists) as (keyof typeof podLists)[]))),
  naming,
  labels: fc.boolean(),
  directive: fc.boolean(),
});
type Side = typeof side extends fc.Arbitrary<infer T> ? T : never;

function grown({ metadata, spec, naming: how, labels, directive }: Side, count: number): AnyObject {
  const names = Array.from({ length: count }, (_, i) => namings[how]?.(i, count) ?? "");
  const of = <T>(fields: readonly T[], make: (field: T) => unknown): object =>
    Object.fromEntries(fields.map((field) => [field, make(field)]) as [string, unknown][]);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "p",
      ...of(metadata, (field) => names.map((name) => listed[field](name))),
      ...(labels ? { labels: Object.fromEntries(names.map((name) => [name, "v"])) } : {}),
      ...(directive
        ? { "$setElementOrder/ownerReferences": names.map((name) => ({ uid: name })) }
        : {}),
    },
    spec: of(spec, (field) => names.map((name) => podLists[field](name))),
  } as unknown as AnyObject; // a bag of fields
}

function usPerByte(bytes: number, f: () => unknown): number {
  const before = process.threadCpuUsage();
  try {
    f();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / Math.max(bytes, bytesMin);
}

test("a patch of a grown object takes no more time per byte than linear work does", () => {
  fc.assert(
    fc.property(side, side, fc.boolean(), (liveSide, patchSide, force) => {
      const live = grown({ ...liveSide, directive: false }, 2500);
      const patch = grown(patchSide, 2500);
      const configuration = grown({ ...patchSide, directive: false }, 2500);
      const bytes = JSON.stringify(live).length + JSON.stringify(patch).length;
      const asJson = live as unknown as JsonObject;
      const tracked = trackUpdate(management, {
        live: undefined,
        next: live,
        manager: "one",
        nowMs: 0,
      });
      const operations = Array.from({ length: 2500 }, (_, i) => ({
        op: i % 2 === 0 ? "add" : "remove",
        path: "/metadata/finalizers/0",
        value: "x",
      }));
      const request = { live: tracked, manager: "two", nowMs: 1 };
      const runs: Readonly<Record<string, () => unknown>> = {
        strategic: () => strategicMergePatch(asJson, patch, podSchema, schemaOf),
        merge: () => applyMergePatch(asJson, patch),
        json: () => applyJsonPatch(asJson, operations),
        apply: () => applyPatch(management, { ...request, applied: configuration, force }),
        track: () => trackUpdate(management, { ...request, next: configuration }),
      };
      for (const [name, run] of Object.entries(runs)) {
        const us = usPerByte(bytes, run);
        assert.ok(us <= usPerByteMax, `${name}: ${us.toFixed(2)} us a byte of ${bytes}`);
        if (process.env["PATCH_TIMES"] !== undefined) console.log(name, us.toFixed(3), bytes);
      }
    }),
    { numRuns: 10 },
  );
});
