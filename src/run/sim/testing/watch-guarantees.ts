/**
 * The behaviour suite of watches as a property: random steps of writers, clients and faults on two replicas
 * over one truth, judged by clients that believe nothing (watch-client.ts).
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import { parseLabelSelector } from "#api/selectors/label-selector.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { Fault, Fed } from "./fed.ts";
import { type Selection, WatchClient } from "./watch-client.ts";

type Step =
  | { readonly do: "write"; readonly keys: readonly number[]; readonly label: string | undefined }
  | { readonly do: "skip" | "bookmark" }
  | {
      readonly do: "watch";
      readonly which: number;
      readonly replica: number;
      /** Number of revisions before the newest to start at. Undefined: start with the state. */
      readonly back: number | undefined;
      readonly room: number;
      readonly latest: boolean;
    }
  | { readonly do: "room"; readonly who: number; readonly room: number }
  | {
      readonly do: "reconnect";
      readonly who: number;
      readonly replica: number;
      readonly latest: boolean;
    }
  /** Breaks the connection within the next batch. */
  | { readonly do: "tear"; readonly who: number; readonly items: number }
  /** `flow`: everything in transit arrives before the time passes. */
  | { readonly do: "time" | "jump" | "flow"; readonly ms: number }
  | { readonly do: "fault"; readonly replica: number; readonly fault: Fault };

function selection(namespace: string, labels: string, fields: string, wants: Selection["wants"]) {
  const predicate = compilePredicate({
    namespace,
    namespaced: true,
    labels: parseLabelSelector(labels),
    fields: parseFieldSelector(fields),
  });
  return { name: `${namespace}|${labels}|${fields}`, predicate, wants };
}

const selections: readonly Selection[] = [
  selection("", "", "", () => true),
  selection("ns1", "", "", (key) => key.startsWith("ns1/")),
  selection("", "v=1", "", (_key, label) => label === "1"),
  selection("ns0", "v=2", "", (key, label) => key.startsWith("ns0/") && label === "2"),
  selection("", "v!=1", "", (_key, label) => label !== "1"),
  selection("", "v in (1,2)", "", (_key, label) => label === "1" || label === "2"),
  selection("", "", "spec.nodeName=n3", (_key, label) => label === "3"),
  selection("ns1", "", "metadata.name=p1", (key) => key === "ns1/p1"),
];

const replica = fc.nat(1);
const label = fc.option(fc.constantFrom("1", "2", "3"), { nil: undefined });

function writes(keysMax: number): fc.Arbitrary<Step> {
  const keys = fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: keysMax });
  return fc.record({ do: fc.constant("write" as const), keys, label });
}

const clients: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("watch" as const),
    which: fc.nat(selections.length - 1),
    replica,
    back: fc.option(fc.nat(6), { nil: undefined }),
    room: fc.constantFrom(0, 1, 3, 1e9, 1e9),
    latest: fc.boolean(),
  }),
  fc.record({ do: fc.constant("room" as const), who: fc.nat(4), room: fc.nat(6) }),
  fc.record({
    do: fc.constant("reconnect" as const),
    who: fc.nat(4),
    replica,
    latest: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("tear" as const),
    who: fc.nat(4),
    items: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constantFrom("skip" as const, "bookmark" as const) }),
  fc.record({ do: fc.constant("time" as const), ms: fc.constantFrom(0, 10, 1_000, 600_000) }),
  fc.record({ do: fc.constant("jump" as const), ms: fc.constantFrom(-3_600_000, 3_600_000) }),
);

/** Times within one window of the latest state, and longer than it. */
const flow: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("flow" as const),
  ms: fc.constantFrom(0, 10, 150),
});

function faults(...all: fc.Arbitrary<Fault>[]): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant("fault" as const), replica, fault: fc.oneof(...all) });
}

export function plain(
  ...kinds: ("enqueue" | "upstreamBookmark" | "compact" | "swap" | "verify" | "restart")[]
) {
  return fc.record({ kind: fc.constantFrom(...kinds) });
}

export const calm = [
  plain("enqueue", "upstreamBookmark"),
  fc.record({
    kind: fc.constant("deliver" as const),
    count: fc.integer({ min: 1, max: 9 }),
    torn: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("repeat" as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant("cut" as const), clean: fc.boolean() }),
  fc.record({ kind: fc.constant("down" as const), down: fc.boolean() }),
];
export const rings = [2, 5, 1_000];
export const wild = [...calm, plain("compact", "verify", "restart")];

export interface Profile {
  /** Maximum number of objects that one revision may change. */
  readonly keysMax: number;
  readonly faults: fc.Arbitrary<Fault>[];
  /** Whether the transport keeps the order, so that clients can require it. */
  readonly ordered: boolean;
  /** Possible numbers of events that the cache keeps. */
  readonly rings: readonly number[];
  /** Whether clients stay with one replica. A client that got half a revision may not get the rest from another one. */
  readonly stay?: boolean;
}

export function guarantees(profile: Profile, open: (seed: number, ring: number) => Promise<Fed>) {
  const step = fc.oneof(
    { weight: 4, arbitrary: writes(profile.keysMax) },
    { weight: 5, arbitrary: faults(...profile.faults) },
    { weight: 5, arbitrary: clients },
    { weight: 4, arbitrary: flow },
  );
  return fc.asyncProperty(
    fc.array(step, { minLength: 5, maxLength: 50, size: "max" }),
    fc.integer({ min: 1, max: 1 << 30 }),
    fc.constantFrom(...profile.rings),
    async (steps, seed, ring) => {
      const fed = await open(seed, ring);
      const all: WatchClient[] = [];
      for (const each of steps) await take(fed, profile, all, each);
      await end(fed, all);
      if (fed.digestOf !== undefined) {
        for (const client of all) assert.ok(client.sums > 0 || !client.fromState, "a sum was told");
      }
      fed.check();
      for (const client of all) client.close();
      await fed.close();
    },
  );
}

/** All clients read to the end. An event newer than the last change proves that nothing is missing. */
async function end(fed: Fed, all: readonly WatchClient[]): Promise<void> {
  await fed.settle();
  for (const client of all) client.heal();
  await fed.skip();
  await fed.settle();
  for (const client of all) client.finish();
  fed.bookmark();
  for (const client of all) client.verdict();
}

async function take(fed: Fed, profile: Profile, all: WatchClient[], step: Step): Promise<void> {
  switch (step.do) {
    case "write":
      return fed.write(step.keys.map((k) => [`ns${k % 2}/p${k}`, step.label] as const));
    case "skip":
      return fed.skip();
    case "bookmark":
      return fed.bookmark();
    case "time":
      return fed.time(step.ms);
    case "flow":
      for (let at = 0; at < fed.replicas; at++) await arrive(fed, at);
      return fed.time(step.ms);
    case "jump":
      return fed.jump(step.ms);
    case "fault":
      return fed.fault(step.replica, step.fault);
    case "watch":
      return void all.push(begin(fed, profile, step));
    case "room":
      return all[step.who % Math.max(1, all.length)]?.give(step.room);
    case "reconnect":
      return all[step.who % Math.max(1, all.length)]?.reconnect(
        profile.stay === true ? undefined : step.replica,
        step.latest,
      );
    case "tear":
      return all[step.who % Math.max(1, all.length)]?.tear(step.items);
    default:
      step satisfies never;
  }
}

async function arrive(fed: Fed, at: number): Promise<void> {
  await fed.fault(at, { kind: "enqueue" });
  await fed.fault(at, { kind: "deliver", count: 10_000, torn: false });
}

function begin(fed: Fed, profile: Profile, step: Extract<Step, { do: "watch" }>): WatchClient {
  const which = selections[step.which] ?? selections[0];
  assert.ok(which !== undefined);
  const client = new WatchClient(fed, which, { ...step, ordered: profile.ordered });
  client.start(step.back === undefined ? "state" : Math.max(1, fed.head - step.back));
  return client;
}
