/** Which volume a claim gets, and what a choice costs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, PersistentVolume, PersistentVolumeClaim } from "../gen/types.ts";
import { volumeBoundTo } from "./binding.ts";
import { VolumeIndex } from "./volume-index.ts";

type Spec = NonNullable<PersistentVolume["spec"]>;

function volume(name: string, storage: string, spec: Spec = {}, fields: object = {}) {
  const base = { capacity: { storage }, accessModes: ["ReadWriteOnce"] };
  const metadata = { name, uid: name, ...fields };
  return { metadata, spec: { ...base, ...spec }, status: { phase: "Available" } };
}

function claim(
  storage: string,
  spec: NonNullable<PersistentVolumeClaim["spec"]> = {},
): PersistentVolumeClaim {
  const base = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
  return { metadata: { name: "c", namespace: "ns", uid: "u" }, spec: { ...base, ...spec } };
}

const many = ["ReadWriteOnce", "ReadOnlyMany"];
const stock: readonly PersistentVolume[] = [
  volume("large", "10Gi"),
  volume("small", "1Gi"),
  volume("middle", "5Gi"),
  volume("tiny-many", "1Gi", { accessModes: many }),
  volume("many-6", "6Gi", { accessModes: many }),
  volume("gold", "1Gi", { storageClassName: "gold" }),
  volume("block", "1Gi", { volumeMode: "Block" }),
  volume("fast", "1Gi", { volumeAttributesClassName: "fast" }),
  volume("labelled", "2Gi", {}, { labels: { tier: "db" } }),
  volume("going", "3Gi", {}, { deletionTimestamp: "t" }),
  { ...volume("failed", "4Gi"), status: { phase: "Failed" } },
  volume("foreign", "1Gi", { claimRef: { namespace: "other", name: "c" } }),
  volume("earlier", "1Gi", { claimRef: { namespace: "ns", name: "c", uid: "another" } }),
];

const choices: readonly (readonly [string, PersistentVolumeClaim, string | undefined])[] = [
  ["the smallest that is large enough", claim("2Gi"), "labelled"],
  ["the same size exactly", claim("5Gi"), "middle"],
  ["one byte more needs the next", claim("5368709121"), "large"],
  ["none when all are too small", claim("11Gi"), undefined],
  [
    "fewest modes before smallest size",
    claim("1Gi", { accessModes: ["ReadOnlyMany"] }),
    "tiny-many",
  ],
  ["a set of modes", claim("2Gi", { accessModes: many }), "many-6"],
  ["none has the mode", claim("1Gi", { accessModes: ["ReadWriteMany"] }), undefined],
  ["its class alone", claim("1Gi", { storageClassName: "gold" }), "gold"],
  ["no class of another name", claim("1Gi", { storageClassName: "silver" }), undefined],
  ["its volume mode", claim("1Gi", { volumeMode: "Block" }), "block"],
  ["its attributes class", claim("1Gi", { volumeAttributesClassName: "fast" }), "fast"],
  ["its selector", claim("1Gi", { selector: { matchLabels: { tier: "db" } } }), "labelled"],
  ["not what is going or has failed", claim("3Gi"), "middle"],
];
for (const [what, asked, expected] of choices) {
  test(`a claim gets ${what}`, () => {
    const index = new VolumeIndex();
    for (const one of stock) index.set(one);
    assert.equal(index.best(asked, false)?.metadata?.name, expected);
    assert.equal(index.best(asked, true), undefined);
  });
}

test("a volume reserved by name is taken even when a smaller fits, and also before a consumer is there", () => {
  const index = new VolumeIndex();
  for (const one of stock) index.set(one);
  index.set(volume("mine", "9Gi", { claimRef: { namespace: "ns", name: "c" } }));
  for (const isDelayed of [false, true]) {
    assert.equal(index.best(claim("1Gi"), isDelayed)?.metadata?.name, "mine");
  }
  assert.equal(index.best(claim("10Gi"), false)?.metadata?.name, "large");
});

test("an index follows its volumes, and forgets those that are gone", () => {
  const index = new VolumeIndex();
  for (const one of stock) index.set(one);
  index.set(volume("small", "20Gi"));
  assert.equal(index.best(claim("11Gi"), false)?.metadata?.name, "small");
  for (const one of stock) index.delete(one.metadata?.name ?? "");
  assert.equal(index.best(claim("1Gi"), false), undefined);
  assert.equal(index.get("small"), undefined);
});

function node(name: string): Node {
  return { metadata: { name, labels: { "kubernetes.io/hostname": name, zone: "z1" } } };
}

function affinity(key: string, ...values: readonly string[]): Spec {
  const term = { matchExpressions: [{ key, operator: "In", values }] };
  return { nodeAffinity: { required: { nodeSelectorTerms: [term] } } };
}

test("on a node, a claim gets the smallest that the node can use and nobody has taken", () => {
  const index = new VolumeIndex();
  index.set(volume("a-local", "2Gi", affinity("kubernetes.io/hostname", "a")));
  index.set(volume("b-local", "1Gi", affinity("kubernetes.io/hostname", "b")));
  index.set(volume("zoned", "3Gi", affinity("zone", "z1")));
  index.set(volume("elsewhere", "1Gi", affinity("zone", "z2")));
  const on = (name: string, ...taken: readonly string[]) =>
    index.bestOn(claim("1Gi"), node(name), new Set(taken))?.metadata?.name;
  assert.deepEqual([on("a"), on("b"), on("c")], ["a-local", "b-local", "zoned"]);
  assert.deepEqual([on("a", "a-local"), on("c", "zoned")], ["zoned", undefined]);
});

test("5,000 claims choose among 5,000 volumes within a bounded number of steps", () => {
  const index = new VolumeIndex();
  const count = 5_000;
  let compared = 0;
  for (let i = 0; i < count; i++) {
    const one = volume(`v${i}`, `${1 + (i % 7)}Gi`);
    const { spec } = one;
    // Reading the labels is what a scan of volumes would do for each of them.
    const metadata = {
      name: `v${i}`,
      get labels() {
        compared++;
        return { tier: "db" };
      },
    };
    index.set({ ...one, metadata, spec });
  }
  const selector = { matchLabels: { tier: "db" } };
  compared = 0;
  for (let i = 0; i < count; i++) {
    const asked: PersistentVolumeClaim = {
      ...claim("1Gi", { selector }),
      metadata: { name: `c${i}`, namespace: "ns", uid: `u${i}` },
    };
    const best = index.best(asked, false);
    assert.ok(best !== undefined, `claim ${i}`);
    index.set(volumeBoundTo(best, asked));
  }
  assert.equal(index.best(claim("1Gi"), false), undefined);
  assert.ok(compared <= 4 * count, `${compared} looks at labels`);
});
