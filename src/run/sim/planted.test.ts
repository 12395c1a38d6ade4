/** Bugs put between the parts of the product, in tests only: the simulation must find each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DiskFile } from "#platform/disk.ts";
import type { FullStore, StoreSnapshot } from "#store/full-store.ts";
import type { Commit, CommitSink } from "#store/store.ts";
import type { Guarantee } from "./checkers/guarantees.ts";
import type { Planted } from "./etcd-member.ts";
import { runSeed } from "./etcd-run.ts";
import { changed, lyingFile, withFiles } from "#platform/testing/changed.ts";

const seedsMax = 150;

interface Bug {
  readonly planted: Planted;
  readonly by: readonly (Guarantee | "CorruptionError")[];
  /** Where to begin for a bug that not every seed shows: the seed that finds it today. Absent: 1. */
  readonly firstSeed?: number;
}

/** @returns which promises seeds find broken, up to the first that finds one of `by`. */
async function found({ planted, by, firstSeed = 1 }: Bug): Promise<ReadonlySet<string>> {
  const broken = new Set<string>();
  for (let seed = firstSeed; seed < firstSeed + seedsMax; seed++) {
    try {
      const { problems } = await runSeed(seed, planted);
      for (const { guarantee } of problems) broken.add(guarantee);
    } catch (error) {
      broken.add((error as Error).name);
    }
    if (by.some((one) => broken.has(one))) break;
  }
  return broken;
}

/** The store with its watches' commits passed through `change`. */
function watching(
  store: FullStore,
  change: (commits: readonly Commit[]) => readonly Commit[],
): FullStore {
  const sinkOf = (sink: CommitSink): CommitSink => ({
    deliver: (commits) => sink.deliver(change(commits)),
    compacted: (revision) => sink.compacted(revision),
  });
  return changed(store, {
    watchFrom: (range, start, sink) => store.watchFrom(range, start, sinkOf(sink)),
  });
}

function chunksOf(snapshot: StoreSnapshot): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let one = snapshot.next(); one !== undefined; one = snapshot.next())
    chunks.push(one.slice());
  return chunks;
}

/** Says durable when the write is under way: true again some awaits later. */
function hastyFile(file: DiskFile): DiskFile {
  const hasty: DiskFile["writeDurably"] = (buffers, position) => {
    file.writeDurably(buffers, position).catch(() => undefined);
    return Promise.resolve();
  };
  return changed(file, { writeDurably: hasty, writeDurablyAtOnce: hasty });
}

const bugs: Readonly<Record<string, Bug>> = {
  "a disk that says durable too early": {
    planted: {
      disk: (disk) => withFiles(disk, lyingFile),
    },
    by: ["durable", "linearizable", "CorruptionError", "leases", "compaction"],
  },
  "a disk that says durable some awaits too early": {
    planted: {
      disk: (disk) => withFiles(disk, hastyFile),
    },
    by: ["durable", "linearizable", "CorruptionError", "leases", "compaction", "dense"],
  },
  "a watch that drops an event now and then": {
    planted: {
      store: (store) =>
        watching(store, (commits) => commits.filter(({ revision }) => revision % 17 !== 0)),
    },
    by: ["watch reliable", "watch progress", "watch resumable", "dense"],
  },
  "a watch that tells a revision twice": {
    planted: {
      store: (store) =>
        watching(store, (commits) =>
          commits.flatMap((one) => (one.revision % 13 === 0 ? [one, one] : [one])),
        ),
    },
    by: ["watch unique"],
  },
  "a watch that turns two commits round": {
    planted: { store: (store) => watching(store, (commits) => commits.toReversed()) },
    by: ["watch ordered"],
  },
  "a watch that goes on one revision late": {
    planted: {
      store: (store) =>
        changed(store, {
          watchFrom: (range, start, sink) =>
            store.watchFrom(range, (start + (start > 30 ? 1 : 0)) as typeof start, sink),
        }),
    },
    by: ["watch resumable", "dense"],
  },
  "progress told while a watch of the stream lags": {
    firstSeed: 3,
    planted: {
      store: (store) =>
        changed(store, {
          watchFrom: (range, start, sink) =>
            changed(store.watchFrom(range, start, sink), {
              get position() {
                return store.commitRevision;
              },
            }),
        }),
    },
    by: ["watch progress"],
  },
  "a watch that goes on after it was canceled": {
    firstSeed: 5,
    planted: {
      store: (store) =>
        changed(store, {
          watchFrom: (range, start, sink) =>
            changed(store.watchFrom(range, start, sink), { close: () => undefined }),
        }),
    },
    by: ["watch canceled", "watch progress", "watch unique", "watch ordered"],
  },
  "keys of a lease that lack one": {
    planted: {
      store: (store) => changed(store, { leaseKeys: (id) => store.leaseKeys(id).slice(1) }),
    },
    by: ["lease answers"],
  },
  "an alarm that a restart forgets": {
    firstSeed: 10,
    planted: {
      alarms: (memory) => changed(memory, { load: () => Promise.resolve([]) }),
    },
    by: ["space"],
  },
  "leases that last a second less than granted": {
    planted: {
      store: (store) =>
        changed(store, {
          grantLeaseAs: (id, ttlSeconds) => store.grantLeaseAs(id, ttlSeconds - 1.5),
        }),
    },
    by: ["leases"],
  },
  "leases told of before they are durable": {
    planted: { store: (store) => changed(store, { settled: () => Promise.resolve() }) },
    by: ["leases", "lease answers"],
    firstSeed: 61,
  },
  "a snapshot that was kept from before": {
    planted: {
      store: (store) => {
        let kept: readonly Uint8Array[] | undefined;
        return changed(store, {
          snapshot: () => {
            const snapshot = store.snapshot();
            const chunks = (kept ??= chunksOf(snapshot)).values();
            return { ...snapshot, next: () => chunks.next().value };
          },
        });
      },
    },
    by: ["restored"],
  },
  "compaction that goes too far": {
    planted: {
      store: (store) =>
        changed(store, {
          compact: (revision) =>
            store.compact(Math.min(store.commitRevision, revision + 7) as typeof revision),
        }),
    },
    by: ["compaction"],
  },
  "an answer before the write is durable": {
    firstSeed: 9,
    planted: {
      store: (store) =>
        changed(store, {
          put: async (key, value, options) => {
            const { commitRevision: before } = store;
            const done = store.put(key, value, options);
            const late = new Promise<"late">((resolve) => setImmediate(resolve, "late"));
            const first = await Promise.race([done, late]);
            if (first !== "late") return first;
            return {
              kind: "committed",
              revision: (before + 1) as typeof before,
              previous: undefined,
            };
          },
        }),
    },
    by: ["linearizable", "durable", "dense"],
  },
};

for (const [name, bug] of Object.entries(bugs)) {
  void test(`found within ${seedsMax} seeds: ${name}`, async () => {
    const broken = await found(bug);
    const texts = [...broken].join(", ");
    assert.ok(
      bug.by.some((one) => broken.has(one)),
      `found broken: ${texts || "nothing"}`,
    );
  });
}
