/** Every checker is silent on a good history, and objects to a bad one: one lie for each promise. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { check, guarantees, type Guarantee } from "./guarantees.ts";
import type {
  Event,
  History,
  KeyValue,
  Operation,
  Request,
  Restored,
  Snapshot,
  Watch,
} from "./history.ts";

const zero = { order: 0, ms: 0 };

function kv(
  key: string,
  value: string,
  create: number,
  mod: number,
  lease: string = "0",
): KeyValue {
  return { key, value, create, mod, version: create === mod ? 1 : 2, lease };
}

/** Revisions 2 to 6: two puts in one, an overwrite, a delete, a put with a lease, its end. */
const a2 = kv("a", "1", 2, 2);
const b2 = kv("b", "1", 2, 2);
const a3 = kv("a", "2", 2, 3);
const c5 = kv("c", "1", 5, 5, "7");
const events: readonly Event[] = [
  { revision: 2, key: "a", kv: a2, previous: undefined },
  { revision: 2, key: "b", kv: b2, previous: undefined },
  { revision: 3, key: "a", kv: a3, previous: a2 },
  { revision: 4, key: "b", kv: undefined, previous: b2 },
  { revision: 5, key: "c", kv: c5, previous: undefined },
  { revision: 6, key: "c", kv: undefined, previous: c5 },
];

/** Operation `id` is asked at order 10 id and answered at 10 id + 5, a second each. */
function operation(
  id: number,
  request: Request,
  revision: number,
  answer: Extract<Operation["outcome"], { kind: "answered" }>["answer"],
): Operation {
  const invoked = { order: id * 10, ms: id * 1000 };
  const returned = { order: id * 10 + 5, ms: id * 1000 + 100 };
  return {
    id,
    client: "x",
    request,
    invoked,
    returned,
    outcome: { kind: "answered", revision, answer },
  };
}

const put = (
  key: string,
  value: string,
  lease: string = "0",
): Request & { readonly kind: "put" } => ({
  kind: "put",
  key,
  value,
  lease,
  ignore: "none",
});
const previous = undefined;
const goodOperations: readonly Operation[] = [
  operation(
    1,
    { kind: "txn", compares: [], success: [put("a", "1"), put("b", "1")], failure: [] },
    2,
    {
      kind: "txn",
      succeeded: true,
      answers: [
        { kind: "put", previous },
        { kind: "put", previous },
      ],
    },
  ),
  operation(2, put("a", "2"), 3, { kind: "put", previous: a2 }),
  operation(3, { kind: "delete", key: "b", end: "" }, 4, { kind: "delete", previous: [b2] }),
  operation(4, { kind: "grant", lease: "7", ttlSeconds: 2 }, 4, { kind: "done" }),
  operation(5, put("c", "1", "7"), 5, { kind: "put", previous }),
  operation(6, { kind: "range", key: "a", end: "\0", revision: 0, limit: 0 }, 5, {
    kind: "range",
    kvs: [a3, c5],
    count: 2,
    more: false,
  }),
  operation(7, { kind: "compact", revision: 3 }, 6, { kind: "done" }),
  operation(8, { kind: "range", key: "a", end: "", revision: 3, limit: 0 }, 6, {
    kind: "range",
    kvs: [a3],
    count: 1,
    more: false,
  }),
];

/** Each revision a message, at the order of the operation that made it, and six seconds for all. */
function watch(id: number, changes: Partial<Watch> = {}, told: readonly Event[] = events): Watch {
  const messages = [2, 3, 4, 5, 6].flatMap((revision): Watch["messages"] => {
    const some = told.filter((event) => event.revision === revision);
    if (some.length === 0) return [];
    const at = { order: revision * 10 + 3, ms: 7000 };
    return [{ kind: "events", at, sentMs: 7000, revision, fragment: false, events: some }];
  });
  return {
    id,
    watcher: `watcher ${id}`,
    key: "\0",
    end: "\0",
    startRevision: 1,
    noPut: false,
    noDelete: false,
    previous: true,
    asked: zero,
    created: { at: { order: 1, ms: 0 }, revision: 1 },
    messages,
    ...changes,
  };
}

/** Asked for when revision 5 was known, and taken then. */
const snapshot: Snapshot = {
  asked: { order: 56, ms: 5200 },
  taken: { order: 58, ms: 5300 },
  isWhole: true,
  restored: { revision: 5, kvs: [a3, c5], leases: ["7"] },
};

const good: History = {
  operations: goodOperations,
  watches: [watch(0), watch(1)],
  snapshots: [snapshot],
  quotaBytes: 2 ** 20,
  isRoomy: true,
  quiet: { order: 79, ms: 7900 },
  end: { order: 100, ms: 9000 },
};

/** The good history with other messages on its second watch. */
function told(change: (messages: Watch["messages"]) => Watch["messages"]): History {
  return { ...good, watches: [watch(0), { ...watch(1), messages: change(watch(1).messages) }] };
}

function answered(id: number, change: Partial<Operation>): History {
  const operations = good.operations.map((one) => (one.id === id ? { ...one, ...change } : one));
  return { ...good, operations };
}

function withMessage(
  messages: Watch["messages"],
  at: number,
  change: (events: readonly Event[]) => readonly Event[],
): Watch["messages"] {
  return messages.map((message, i) =>
    i === at && message.kind === "events"
      ? { ...message, events: change(message.events) }
      : message,
  );
}

/** The good history with its snapshot restored to something else. */
function restoredTo(change: Partial<Restored>): History {
  const made = { ...(snapshot.restored as Restored), ...change };
  return { ...good, snapshots: [{ ...snapshot, restored: made }] };
}

function withOperation(...operations: readonly Operation[]): History {
  return { ...good, operations: [...good.operations, ...operations] };
}

const lastMoment = { order: 99, ms: 8900 };

const lies: Readonly<Record<Guarantee, Readonly<Record<string, History>>>> = {
  linearizable: {
    "a read of a value that was overwritten": answered(6, {
      outcome: {
        kind: "answered",
        revision: 5,
        answer: { kind: "range", kvs: [a2, c5], count: 2, more: false },
      },
    }),
    "a read older than what was known": answered(6, {
      outcome: {
        kind: "answered",
        revision: 2,
        answer: { kind: "range", kvs: [a2, b2], count: 2, more: false },
      },
    }),
    "a change nobody asked for": {
      ...good,
      operations: good.operations.filter(({ id }) => id !== 2),
    },
    "one write told two revisions": {
      ...good,
      operations: [...good.operations, { ...(good.operations[1] as Operation), id: 9 }],
    },
  },
  dense: {
    "a revision left out": {
      ...good,
      watches: good.watches.map((one) => ({
        ...one,
        messages: one.messages.filter((m) => m.kind !== "events" || m.revision !== 4),
      })),
    },
  },
  "watch ordered": { "two messages turned round": told(([x, y, ...z]) => [y, x, ...z] as never) },
  "watch unique": { "a message twice": told(([x, ...y]) => [x, x, ...y] as never) },
  "watch reliable": {
    "an event left out": told((m) => m.filter((_, i) => i !== 2)),
    "a wrong previous value": told((m) =>
      withMessage(m, 1, (some) => some.map((event) => ({ ...event, previous: b2 }))),
    ),
    "an event nobody made": told((m) => withMessage(m, 1, (some) => [...some, ...some])),
  },
  "watch atomic": {
    "a revision in two messages": told((m) => [
      ...withMessage(m.slice(0, 1), 0, (some) => some.slice(0, 1)),
      ...withMessage(m, 0, (some) => some.slice(1)),
    ]),
  },
  "watch resumable": { "the first revision left out": told((m) => m.slice(1)) },
  "watch progress": {
    "progress before an event": told(([x, ...y]) => [
      x as never,
      { kind: "progress", at: { order: 24, ms: 7000 }, revision: 5 },
      ...y,
    ]),
  },
  durable: {
    "an event that is another one later": told((m) =>
      withMessage(m, 1, (some) => some.map((event) => ({ ...event, kv: { ...a3, value: "3" } }))),
    ),
    "a head that went back": {
      ...good,
      watches: [
        ...good.watches,
        watch(2, { asked: lastMoment, created: { at: lastMoment, revision: 3 } }),
      ],
    },
  },
  leases: {
    "an end before its time": {
      ...good,
      watches: good.watches.map((one) => ({
        ...one,
        messages: one.messages.map((m) =>
          m.kind === "events" && m.revision === 6 ? { ...m, sentMs: 5500 } : m,
        ),
      })),
    },
    "a lease alive after its end": {
      ...good,
      operations: [
        ...good.operations,
        operation(9, { kind: "remaining", lease: "7" }, 6, {
          kind: "lease",
          ttlSeconds: 1,
          grantedSeconds: 2,
          keys: [],
        }),
      ],
    },
  },
  restored: {
    "a whole snapshot that is refused": {
      ...good,
      snapshots: [{ ...snapshot, restored: undefined }],
    },
    "a snapshot older than what was known": restoredTo({ revision: 3, kvs: [a3, b2] }),
    "a value of another revision": restoredTo({ kvs: [a2, c5] }),
    "a key too few": restoredTo({ kvs: [a3] }),
    "a key without its lease": restoredTo({ leases: [] }),
  },
  "lease answers": {
    "more seconds left than granted": withOperation(
      operation(9, { kind: "remaining", lease: "7" }, 6, {
        kind: "lease",
        ttlSeconds: 3,
        grantedSeconds: 2,
        keys: [],
      }),
    ),
    "keys it never had": withOperation(
      operation(9, { kind: "remaining", lease: "7" }, 6, {
        kind: "lease",
        ttlSeconds: 1,
        grantedSeconds: 2,
        keys: ["a"],
      }),
    ),
  },
  space: {
    "a delete refused for want of space": answered(3, {
      outcome: { kind: "refused", why: "no space" },
    }),
    "an alarm that is forgotten": withOperation(
      operation(9, { kind: "alarms" }, 6, { kind: "alarms", armed: true }),
      operation(10, { kind: "alarms" }, 6, { kind: "alarms", armed: false }),
    ),
    "an alarm that nothing raised": withOperation(
      operation(9, { kind: "alarms" }, 6, { kind: "alarms", armed: true }),
    ),
    "more state than the quota": { ...good, quotaBytes: 1 },
  },
  "watch canceled": {
    "an event after it": told(([x, ...y]) => [
      x as never,
      { kind: "canceled", at: { order: 24, ms: 7000 } },
      ...y,
    ]),
  },
  compaction: {
    "a read below the compacted revision": {
      ...good,
      operations: [
        ...good.operations,
        operation(9, { kind: "range", key: "a", end: "", revision: 2, limit: 0 }, 6, {
          kind: "range",
          kvs: [a2],
          count: 1,
          more: false,
        }),
      ],
    },
    "compacted said of what is there": answered(8, {
      outcome: { kind: "refused", why: "compacted" },
    }),
    "a watch told a wrong compact revision": {
      ...good,
      watches: [
        ...good.watches,
        watch(2, {
          messages: [{ kind: "compacted", at: lastMoment, compactRevision: 5 }],
          startRevision: 2,
        }),
      ],
    },
  },
  converged: {
    "a watch that never catches up": told((m) => m.slice(0, 3)),
    "an operation without an answer": answered(8, { outcome: { kind: "unknown" } }),
  },
};

void test("a good history breaks nothing", () => {
  assert.deepEqual(check(good), []);
});

for (const guarantee of Object.keys(guarantees) as Guarantee[]) {
  for (const [name, history] of Object.entries(lies[guarantee])) {
    void test(`"${guarantee}" objects to ${name}`, () => {
      const broken = check(history).map((problem) => problem.guarantee);
      assert.ok(broken.includes(guarantee), `objected: ${broken.join(", ") || "nobody"}`);
    });
  }
}

void test("checkers know histories, and nothing of the product", () => {
  const folder = new URL(".", import.meta.url);
  for (const name of readdirSync(folder).filter((one) => !one.endsWith(".test.ts"))) {
    const text = readFileSync(new URL(name, folder), "utf8");
    const imports = [...text.matchAll(/from "([^"]+)"/g)].map((match) => match[1] as string);
    const others = imports.filter((one) => !/^(\.\/|#base\/|#api\/)/.test(one));
    assert.deepEqual(others, [], name);
  }
});
