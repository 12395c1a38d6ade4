/** Patches just within what an object and a patch may be built of: JSON, merge, strategic, server-side apply. */
import { given } from "#base/given.ts";
import {
  type Api,
  type Attack,
  type AttackRequest,
  filled,
  json,
  keyedItemsMax,
} from "../attack.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const types = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

const many = keyedItemsMax - 96;
const keys = 4000;

function list(count: number, item: (index: number) => unknown): readonly unknown[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

function map(count: number, value: unknown, prefix = "k"): object {
  return Object.fromEntries(list(count, (i) => [`${prefix}${i}`, value]) as [string, unknown][]);
}

const owner = (i: number): object => ({
  apiVersion: "example.com/v1",
  kind: "Unknown",
  name: `p${i}`,
  uid: `u${i}`,
});
const backwards = (i: number): object => owner(many - 1 - i);

let made = 0;

interface Patched {
  readonly name: string;
  readonly type: keyof typeof types;
  /** What is there before: metadata and data. */
  readonly metadata?: object;
  readonly data?: object;
  readonly patch: (name: string) => unknown;
  readonly expect?: number | readonly number[];
  readonly says?: string | RegExp;
  readonly query?: string;
}

function patched(row: Patched): Attack {
  const name = `patched-${made++}`;
  const query = row.type === "apply" ? `?fieldManager=attack${row.query ?? ""}` : "";
  return {
    name: `${row.type}: ${row.name}`,
    prepare: (plane: Api) =>
      plane.send({
        method: "POST",
        path: configMaps,
        contentType: json,
        body: () => JSON.stringify({ metadata: { name, ...row.metadata }, data: row.data }),
      }),
    requests: [
      {
        method: "PATCH",
        path: `${configMaps}/${name}${query}`,
        contentType: types[row.type],
        body: () => JSON.stringify(row.patch(name)),
      },
    ],
    expect: row.expect ?? 200,
    ...given({ says: row.says }),
  };
}

function applied(name: string, metadata: object, more: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, ...more };
}

const owners = { ownerReferences: list(many, owner) };
const operations = (count: number, operation: (i: number) => object): readonly unknown[] =>
  list(count, operation);

export const patchAttacks: readonly Attack[] = [
  patched({
    name: "owners onto none",
    type: "strategic",
    patch: () => ({ metadata: owners }),
  }),
  patched({
    name: "all owners again, backwards",
    type: "strategic",
    metadata: owners,
    patch: () => ({ metadata: { ownerReferences: list(many, backwards) } }),
  }),
  patched({
    name: "the order of all owners turned round",
    type: "strategic",
    metadata: owners,
    patch: () => ({
      metadata: {
        "$setElementOrder/ownerReferences": list(many, (i) => ({ uid: `u${many - 1 - i}` })),
        ownerReferences: [],
      },
    }),
  }),
  patched({
    name: "deletion of owners that are not there",
    type: "strategic",
    metadata: owners,
    patch: () => ({
      metadata: { ownerReferences: list(many, (i) => ({ $patch: "delete", uid: `v${i}` })) },
    }),
  }),
  patched({
    name: "finalizers taken out that are not there",
    type: "strategic",
    metadata: { finalizers: list(many, (i) => `a.b/${i}`) },
    patch: () => ({
      metadata: { "$deleteFromPrimitiveList/finalizers": list(30_000, (i) => `c.d/${i}`) },
    }),
  }),
  patched({
    name: "owners onto none",
    type: "apply",
    patch: (name) => applied(name, owners),
  }),
  patched({
    name: "all owners of another manager backwards",
    type: "apply",
    metadata: owners,
    patch: (name) => applied(name, { ownerReferences: list(many, backwards) }),
  }),
  patched({
    name: "a conflict in each of 4,000 keys",
    type: "apply",
    data: map(keys, "a"),
    patch: (name) => applied(name, {}, { data: map(keys, "b") }),
    expect: 409,
    says: "Apply failed with 4000 conflicts",
  }),
  patched({
    name: "the same conflicts forced",
    type: "apply",
    query: "&force=true",
    data: map(keys, "a"),
    patch: (name) => applied(name, {}, { data: map(keys, "b") }),
  }),
  sharedKeys(300, 200),
  patched({
    name: "4,000 fields that no schema has",
    type: "apply",
    patch: (name) => applied(name, {}, map(keys, 1)),
    expect: 500,
    says: "field not declared in schema",
  }),
  patched({
    name: "one finalizer 4,000 times",
    type: "apply",
    patch: (name) => applied(name, { finalizers: list(many, () => "a.b/c") }),
    expect: [400, 500],
  }),
  patched({
    name: "4,000 new keys",
    type: "merge",
    patch: () => ({ data: map(keys, "b") }),
  }),
  patched({
    name: "4,000 deletions of what is not there",
    type: "merge",
    patch: () => ({ data: map(keys, null) }),
  }),
  patched({
    name: "a small change of a large object",
    type: "merge",
    data: map(keys, "a"),
    patch: () => ({ data: { k0: "b" } }),
  }),
  patched({
    name: "10,000 tests of a large value",
    type: "json",
    metadata: { annotations: map(keys, "b") },
    patch: () =>
      operations(10_000, () => ({ op: "test", path: "/metadata/annotations", value: {} })),
    expect: [413, 422],
  }),
  patched({
    name: "9,000 tests of a large value that fail late",
    type: "json",
    metadata: { annotations: map(keys, "b") },
    patch: () => [
      ...operations(9000, () => ({ op: "test", path: "/metadata/annotations/k1", value: "b" })),
      { op: "test", path: "/metadata/annotations", value: map(keys - 1, "b") },
    ],
    expect: 422,
  }),
  patched({
    name: "10,000 moves of a large value",
    type: "json",
    metadata: { annotations: map(keys, "b") },
    patch: () => [
      { op: "copy", from: "/metadata/annotations", path: "/metadata/x" },
      ...operations(9990, (i) => ({
        op: "move",
        from: i % 2 === 0 ? "/metadata/x" : "/metadata/y",
        path: i % 2 === 0 ? "/metadata/y" : "/metadata/x",
      })),
    ],
  }),
  patched({
    name: "copies of copies",
    type: "json",
    data: { a: "x".repeat(1000) },
    patch: () => operations(10_000, (i) => ({ op: "copy", from: "/data", path: `/data/b${i}` })),
    expect: 422,
  }),
  patched({
    name: "10,000 copies of a large value",
    type: "json",
    metadata: { annotations: map(keys, "b") },
    patch: () =>
      operations(10_000, () => ({ op: "copy", from: "/metadata/annotations", path: "/z" })),
    expect: 422,
  }),
  patched({
    name: "3,000 insertions before 40,000 elements",
    type: "json",
    patch: () => [
      { op: "add", path: "/x", value: list(40_000, () => 1) },
      ...operations(3000, () => ({ op: "add", path: "/x/0", value: 2 })),
    ],
  }),
  patched({
    name: "5,000 removals before 40,000 elements",
    type: "json",
    patch: () => [
      { op: "add", path: "/x", value: list(40_000, () => 1) },
      ...operations(5000, () => ({ op: "remove", path: "/x/0" })),
    ],
  }),
  patched({
    name: "a path of three million segments",
    type: "json",
    patch: () => [{ op: "add", path: "/".repeat(3_100_000), value: 1 }],
    expect: 422,
  }),
  patched({
    name: "15,000 operations",
    type: "json",
    patch: () => operations(15_000, () => ({ op: "test", path: "/a" })),
    expect: 413,
    says: "The allowed maximum operations in a JSON patch is 10000, got 15000",
  }),
  managed("4,000 fields", () => ({ "f:data": map(keys, {}, "f:") })),
  managed("4,000 keys out of order", () => ({
    "f:data": Object.fromEntries(
      list(keys, (i) => [`k:{"b":1,"a":${i}}`, {}]) as [string, object][],
    ),
  })),
  managed("one key of 150,000 parts", () => ({
    [`k:${filled("{", (i) => `"${i}a":1`, "}", { bytesMax: 1_300_000 })}`]: {},
  })),
  {
    name: "managed fields of 4,000 managers",
    requests: [
      {
        method: "POST",
        path: configMaps,
        contentType: json,
        body: () =>
          JSON.stringify({
            metadata: {
              name: "managers",
              managedFields: list(4000, (i) => entry(`m${i}`, { [`f:a${i}`]: {} })),
            },
          }),
      },
    ],
    expect: [201, 413],
  },
];

/** An apply over keys that `managers` managers own already: refused, then forced. */
function sharedKeys(managers: number, count: number): Attack {
  const path = `${configMaps}/shared-keys`;
  const config = (value: string): string =>
    JSON.stringify(applied("shared-keys", {}, { data: map(count, value) }));
  const apply = (manager: string, value: string): AttackRequest => ({
    method: "PATCH",
    path: `${path}?fieldManager=${manager}`,
    contentType: types.apply,
    body: () => config(value),
  });
  const conflicting = apply("next", "b");
  return {
    name: `apply: ${count} keys that ${managers} others own, refused and forced`,
    prepare: async (plane) => {
      for (let at = 0; at < managers; at++) await plane.send(apply(`m${at}`, "a"));
    },
    requests: [conflicting, { ...conflicting, path: `${conflicting.path}&force=true` }],
    expect: [409, 200],
  };
}

function entry(manager: string, fieldsV1: object): object {
  return { manager, operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 };
}

function managed(name: string, fields: () => object): Attack {
  const metadata = (): object => ({
    name: `managed-${made++}`,
    managedFields: [entry("a", fields())],
  });
  return {
    name: `managed fields of the client: ${name}`,
    requests: [
      {
        method: "POST",
        path: configMaps,
        contentType: json,
        body: () => JSON.stringify({ metadata: metadata() }),
      },
    ],
    expect: [201, 413],
  };
}
