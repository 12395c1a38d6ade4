/** Get, list and watch: which state is meant, pages of one snapshot, waiting, compaction. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import { parseLabelSelector } from "#api/selectors/label-selector.ts";
import { Pace } from "#platform/pace.ts";
import { ApiError } from "#api/status.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { Revision } from "#store/store.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import { createLister } from "./lister.ts";
import {
  configMap,
  newWorld,
  openRegistry,
  outcome,
  plainWrite,
  put,
  RecordingSink,
} from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";
import type { ListOptions, ListPage, ResourceStore, WatchOptions } from "./resource-store.ts";

/** Revisions 2..n+1, names a0, a1 ... in namespaces n0 and n1 by turns. */
async function withMaps(count: number, options = {}): Promise<World & { maps: ResourceStore }> {
  const world = await newWorld(options);
  const maps = world.resource("configmaps");
  for (let i = 0; i < count; i++) {
    const labels = { parity: i % 2 === 0 ? "even" : "odd" };
    await maps.create(`n${i % 2}`, configMap(`a${i}`, { metadata: { labels } }), plainWrite);
  }
  return { ...world, maps };
}

const names = (page: ListPage): string =>
  page.items.map((item) => `${item.namespace}/${item.name}`).join(" ");

void describe("get", () => {
  void it("waits for a revision that is on its way, and for three seconds at most", async () => {
    const { maps, clock } = await withMaps(1);
    const early = maps.get("n0", "a0", { resourceVersion: "3" });
    await put(maps, "n0/a0", (old) => ({ ...old, data: { k: "v" } }));
    assert.equal((await early).resourceVersion, "3");
    const never = outcome(maps.get("n0", "a0", { resourceVersion: "9" }));
    await clock.advance(3_000);
    assert.equal(await never, "504 Timeout: Timeout: Too large resource version: 9, current: 3");
    assert.equal(clock.timers().filter((timer) => timer.name === "registry.wait").length, 0);
    assert.equal(
      await outcome(maps.get("n0", "a0", { resourceVersion: "x" })),
      '400 BadRequest: invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    );
    assert.equal(
      await outcome(maps.get("n0", "zz", {})),
      '404 NotFound: configmaps "zz" not found',
    );
  });

  void it("carries the cause that clients look for when the revision is too large", async () => {
    const { maps, clock } = await withMaps(0);
    const never = maps.get("n0", "a0", { resourceVersion: "9" }).catch((error: unknown) => error);
    await clock.advance(3_000);
    const error = await never;
    assert.ok(error instanceof ApiError);
    assert.deepEqual(error.status.details, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    });
  });
});

void describe("list", () => {
  void it("reads the snapshot its resourceVersion and match ask for", async () => {
    const { maps, clock } = await withMaps(3);
    await maps.delete("n0", "a0", {}, plainWrite);
    const rows: [ListOptions, string][] = [
      [{}, "n0/a2 n1/a1 @5"],
      [{ limit: 1 }, "n0/a2 @5 more"],
      [{ resourceVersion: "0" }, "n0/a2 n1/a1 @5"],
      [{ resourceVersion: "0", limit: 1 }, "n0/a2 n1/a1 @5"],
      [{ resourceVersion: "4" }, "n0/a2 n1/a1 @5"],
      [{ resourceVersion: "4", limit: 1 }, "n0/a0 @4 more"],
      [{ resourceVersion: "4", limit: 9 }, "n0/a0 n0/a2 n1/a1 @4"],
      [{ resourceVersionMatch: "NotOlderThan" }, "422"],
      [{ resourceVersion: "0", resourceVersionMatch: "NotOlderThan" }, "n0/a2 n1/a1 @5"],
      [{ resourceVersion: "4", resourceVersionMatch: "NotOlderThan" }, "n0/a2 n1/a1 @5"],
      [{ resourceVersion: "4", resourceVersionMatch: "NotOlderThan", limit: 1 }, "n0/a2 @5 more"],
      [{ resourceVersionMatch: "Exact" }, "422"],
      [{ resourceVersion: "0", resourceVersionMatch: "Exact" }, "422"],
      [{ resourceVersion: "3", resourceVersionMatch: "Exact" }, "n0/a0 n1/a1 @3"],
      [{ resourceVersion: "3", resourceVersionMatch: "Exact", limit: 1 }, "n0/a0 @3 more"],
      [{ resourceVersion: "9" }, "504"],
      [{ resourceVersion: "9", resourceVersionMatch: "Exact" }, "504"],
      [{ resourceVersion: "x" }, "400"],
    ];
    for (const [options, wanted] of rows) {
      const work = maps.list("", options).then(
        (page) => {
          const more = page.continue === undefined ? "" : " more";
          return `${names(page)} @${page.resourceVersion}${more}`;
        },
        (error: unknown) => (error instanceof ApiError ? String(error.code) : String(error)),
      );
      await clock.advance(3_000);
      assert.equal(await work, wanted, JSON.stringify(options));
    }
  });

  void it("refuses options that contradict each other in upstream's words", async () => {
    const { maps } = await withMaps(2);
    const page = await maps.list("", { limit: 1 });
    const token = page.continue ?? "";
    const text = (options: ListOptions): Promise<string> => outcome(maps.list("", options));
    const prefix = '422 Invalid: ListOptions.meta.k8s.io "" is invalid: ';
    assert.equal(
      await text({ resourceVersionMatch: "Exact" }),
      `${prefix}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
    );
    assert.equal(
      await text({ resourceVersionMatch: "Exact", resourceVersion: "0" }),
      `${prefix}resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    );
    assert.equal(
      await text({ continue: token, resourceVersion: "2" }),
      "400 BadRequest: specifying resource version is not allowed when using continue",
    );
    assert.equal(await text({ continue: token, resourceVersion: "0" }), "ok");
    assert.match(
      await text({ continue: "%%" }),
      /^400 BadRequest: invalid continue token: continue key is not valid/,
    );
    const outside = encodeContinue({ revision: 2, start: "../secrets/x" });
    assert.match(await text({ continue: outside }), /^400 BadRequest: invalid continue token/);
  });

  void it("selects by namespace, labels and fields, and counts what is left only without selectors", async () => {
    const { maps } = await withMaps(6);
    const labels = parseLabelSelector("parity=odd");
    const fields = parseFieldSelector("metadata.name=a4");
    assert.equal(names(await maps.list("n1", {})), "n1/a1 n1/a3 n1/a5");
    assert.equal(names(await maps.list("", { labels })), "n1/a1 n1/a3 n1/a5");
    assert.equal(names(await maps.list("n0", { labels })), "");
    assert.equal(names(await maps.list("n0", { fields })), "n0/a4");
    assert.equal(names(await maps.list("", { fields })), "n0/a4");
    assert.equal((await maps.list("n1", { limit: 1 })).remainingItemCount, 2);
    const selected = await maps.list("", { labels, limit: 1 });
    assert.equal(selected.remainingItemCount, undefined);
    const rest = await maps.list("", { labels, continue: selected.continue ?? "" });
    assert.equal(names(rest), "n1/a3 n1/a5");
  });

  void it("gives pages of one snapshot whatever is written meanwhile, at any ring size", async () => {
    const action = fc.record({ at: fc.nat(30), remove: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 30 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom("", "n0"),
        async (actions, limit, ringItemsMax, namespace) => {
          const { maps } = await withMaps(12, { ringItemsMax, pinnedMax: 1 });
          const wanted = await maps.list(namespace, {});
          const seen: string[] = [];
          let page = await maps.list(namespace, { limit });
          for (let i = 0; ; i++) {
            seen.push(...page.items.map((o) => `${o.namespace}/${o.name}@${o.resourceVersion}`));
            assert.equal(page.resourceVersion, wanted.resourceVersion);
            const left = wanted.items.length - seen.length;
            assert.equal(page.remainingItemCount, left === 0 ? undefined : left);
            if (page.continue === undefined) break;
            const { at, remove } = actions[i] ?? { at: 0, remove: false };
            const name = `a${at % 14}`;
            const home = `n${at % 2}`;
            if (remove) await outcome(maps.delete(home, name, {}, plainWrite));
            else {
              await put(
                maps,
                `${home}/${name}`,
                () => configMap(name, { data: { i: String(i) } }),
                {
                  createIfMissing: true,
                },
              );
            }
            // Another paginated list takes the only place for a pinned snapshot.
            await maps.list("", { limit: 1 });
            page = await maps.list(namespace, { limit, continue: page.continue });
          }
          const all = wanted.items.map((o) => `${o.namespace}/${o.name}@${o.resourceVersion}`);
          assert.deepEqual(seen, all);
        },
      ),
      { numRuns: 40 },
    );
  });

  void it("at a revision only the store still has is whole, whatever part was listed before", async () => {
    const { maps } = await withMaps(8, { ringItemsMax: 2 });
    const exact = { resourceVersion: "5", resourceVersionMatch: "Exact" } as const;
    const part = await maps.list("n1", { ...exact, limit: 1 });
    assert.equal(names(part), "n1/a1");
    assert.equal(names(await maps.list("", exact)), "n0/a0 n0/a2 n1/a1 n1/a3");
    const rest = await maps.list("n1", { continue: part.continue ?? "" });
    assert.equal(names(rest), "n1/a3");
  });

  void it("at a revision only the store still has is read in turns of the loop, and is that revision", async () => {
    const many = 2_500;
    const { maps, store, clock, registry } = await withMaps(many, { ringItemsMax: 2 });
    const at = String(registry.revision);
    await put(maps, "n0/a0", (old) => ({ ...old, data: { k: "v" } }));
    for (const name of ["a2", "a4", "a6"]) await maps.delete("n0", name, {}, plainWrite);
    const exact = { resourceVersion: at, resourceVersionMatch: "Exact" } as const;
    const pace = new Pace(clock);
    let turns = 0;
    pace.turn = async () => {
      // What is read next changes, and goes.
      if (turns++ === 0) await maps.delete("n1", "a1", {}, plainWrite);
    };
    const { items, resourceVersion } = await maps.list("", { ...exact, pace });
    assert.ok(turns >= 1);
    assert.deepEqual([items.length, resourceVersion], [many, at]);
    assert.ok(items.every((item) => Number(item.resourceVersion) <= Number(at)));
    const keys = items.map((item) => `${item.namespace}/${item.name}`);
    assert.deepEqual(keys, keys.toSorted());
    // Compacted between two turns.
    await put(maps, "n0/a0", (old) => ({ ...old, data: { k: "w" } }));
    const later = String(registry.revision);
    for (const name of ["a8", "a10", "a12"]) await maps.delete("n0", name, {}, plainWrite);
    pace.turn = async () => void (await store.compact(registry.revision as Revision));
    assert.equal(
      await outcome(maps.list("", { ...exact, resourceVersion: later, pace })),
      "410 Expired: The resourceVersion for the provided list is too old.",
    );
  });

  void it("that outlived compaction gets 410 and a token that goes on at the latest revision", async () => {
    const { maps, store, registry } = await withMaps(4);
    const page = await maps.list("", { limit: 1 });
    await maps.delete("n0", "a2", {}, plainWrite);
    await store.compact(registry.revision as Revision);
    const error = await maps.list("", { continue: page.continue ?? "" }).catch((e: unknown) => e);
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 410);
    assert.match(
      error.message,
      /^The provided continue parameter is too old to display a consistent/,
    );
    const token = error.status.metadata.continue ?? "";
    assert.equal(decodeContinue(token).revision, -1);
    assert.equal(names(await maps.list("", { continue: token, limit: 9 })), "n1/a1 n1/a3");
    assert.equal(
      await outcome(maps.list("", { resourceVersion: "2", resourceVersionMatch: "Exact" })),
      "410 Expired: The resourceVersion for the provided list is too old.",
    );
  });
});

void describe("watch", () => {
  async function watching(
    maps: ResourceStore,
    options: Partial<WatchOptions> = {},
  ): Promise<RecordingSink> {
    const sink = new RecordingSink();
    await maps.watch("", { allowBookmarks: true, ...options }, sink);
    return sink;
  }

  void it("starts where its options say", async () => {
    const { maps, clock } = await withMaps(2);
    const initial = ["ADDED n0/a0@2", "ADDED n1/a1@3", "BOOKMARK @3 end"];
    const rows: [Partial<WatchOptions>, string[]][] = [
      [{}, initial],
      [{ resourceVersion: "0" }, initial],
      [{ resourceVersion: "0", allowBookmarks: false }, initial.slice(0, 2)],
      [{ resourceVersion: "2", sendInitialEvents: true }, initial],
      [{ resourceVersion: "2" }, ["ADDED n1/a1@3"]],
      [{ resourceVersion: "1" }, initial.slice(0, 2)],
      [{ resourceVersion: "", sendInitialEvents: false }, []],
    ];
    for (const [options, wanted] of rows) {
      const sink = await watching(maps, options);
      assert.deepEqual(sink.lines, wanted, JSON.stringify(options));
    }
    const early = outcome(watching(maps, { resourceVersion: "99" }));
    await clock.advance(3_000);
    assert.equal(await early, "504 Timeout: Timeout: Too large resource version: 99, current: 3");
    assert.match(
      await outcome(watching(maps, { resourceVersion: "x" })),
      /^422 Invalid: configmaps "" /,
    );
  });

  void it("below the ring reads the store's history, below that it ends with 410", async () => {
    const { maps, store, clock } = await withMaps(10, { ringItemsMax: 2 });
    const sink = await watching(maps, { resourceVersion: "1" });
    await clock.advance(10);
    await maps.delete("n0", "a0", {}, plainWrite);
    assert.equal(sink.items.length, 11);
    assert.equal(sink.lines.at(-1), "DELETED n0/a0@12");
    await store.compact(5 as Revision);
    const late = await watching(maps, { resourceVersion: "4" });
    await clock.advance(10);
    assert.equal(late.ended, true);
    assert.ok(late.error instanceof ApiError && late.error.code === 410);
  });

  void it("goes on after a restart from the revision it had", async () => {
    const { maps, store, clock } = await withMaps(3);
    const again = openRegistry({ clock, store, random: new FakeRandom(1) });
    const sink = await watching(again.resource("configmaps"), { resourceVersion: "2" });
    await clock.advance(10);
    assert.deepEqual(sink.lines, ["ADDED n1/a1@3", "ADDED n0/a2@4"]);
    await clock.advance(60_000);
    await maps.create("n0", configMap("b"), plainWrite);
    assert.deepEqual(sink.lines.slice(2), ["BOOKMARK @4", "ADDED n0/b@5"]);
  });

  void it("gets a bookmark about every minute at the latest revision of any resource", async () => {
    const { maps, clock, resource } = await withMaps(1);
    const sink = await watching(maps, { resourceVersion: "2" });
    const silent = await watching(maps, { resourceVersion: "2", allowBookmarks: false });
    await resource("secrets").create(
      "n0",
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } },
      plainWrite,
    );
    await clock.advance(60_000);
    await clock.advance(60_000);
    assert.deepEqual(sink.lines, ["BOOKMARK @3", "BOOKMARK @3"]);
    assert.deepEqual(silent.lines, []);
  });

  void it("whose sink refuses for long misses nothing", async () => {
    const { maps, clock } = await withMaps(1, { ringItemsMax: 4 });
    const sink = new RecordingSink();
    const watch = await maps.watch("", { allowBookmarks: false, resourceVersion: "2" }, sink);
    sink.full = true;
    for (let i = 0; i < 20; i++) {
      await put(maps, "n0/a0", (old) => ({ ...old, data: { i: String(i) } }));
    }
    assert.deepEqual(sink.lines, []);
    sink.full = false;
    watch.resume();
    await clock.advance(10);
    assert.deepEqual(
      sink.lines,
      Array.from({ length: 20 }, (_, i) => `MODIFIED n0/a0@${i + 3}`),
    );
    watch.close();
    await maps.delete("n0", "a0", {}, plainWrite);
    assert.equal(sink.items.length, 20);
  });

  void it("ends quietly when the registry closes", async () => {
    const { maps, registry, clock } = await withMaps(1);
    const sink = await watching(maps);
    await registry.close();
    assert.equal(sink.ended, true);
    assert.equal(sink.error, undefined);
    assert.deepEqual(
      clock.timers().filter(({ name }) => name === "watch.bookmark" || name === "store.compact"),
      [],
    );
  });
});

void describe("the registry", () => {
  void it("compacts what was history a period ago, so recent revisions stay readable", async () => {
    const { maps, store, clock, registry } = await withMaps(5, { compactPeriodMs: 300_000 });
    await clock.advance(300_000);
    assert.equal(store.compactRevision, 1);
    const old = registry.revision;
    await maps.create("n0", configMap("b"), plainWrite);
    await clock.advance(300_000);
    assert.equal(store.compactRevision, old);
    const page = await maps.list("", { resourceVersion: String(old), limit: 9 });
    assert.equal(page.items.length, 5);
  });

  void it("keeps a period of history, and at most a quarter more", async () => {
    const { maps, store, clock, registry } = await withMaps(1, { compactPeriodMs: 300_000 });
    await clock.advance(40_000);
    await maps.create("n0", configMap("late"), plainWrite);
    const made = registry.revision;
    await clock.advance(300_000);
    assert.ok(store.compactRevision < made);
    await clock.advance(75_000);
    assert.equal(store.compactRevision, made);
  });

  void it("loads what the store holds without parsing, and answers lookups", async () => {
    const { clock, store } = await withMaps(3);
    const again = openRegistry({ clock, store, random: new FakeRandom(1) });
    const configMaps = again.resource("configmaps");
    assert.equal(configMaps.size, 3);
    const lookup = createLister(again.registry);
    const resource = { group: "", resource: "configmaps" };
    assert.equal(lookup.get(resource, "n1", "a1")?.metadata?.name, "a1");
    assert.equal(lookup.get(resource, "n1", "zz"), undefined);
    assert.deepEqual(
      lookup.list(resource, "n0").map((o) => o.metadata?.name),
      ["a0", "a2"],
    );
    assert.equal(lookup.list(resource, "").length, 3);
    assert.equal(configMaps.peekList("n0").length, 2);
  });

  void it("keeps names beyond ASCII, which only some kinds allow", async () => {
    const { resource } = await newWorld();
    const roles = resource("clusterroles.rbac.authorization.k8s.io");
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "rôle:é" },
      rules: [],
    };
    await roles.create("", role, plainWrite);
    assert.equal(roles.peek("", "rôle:é")?.name, "rôle:é");
    assert.equal(
      (await roles.list("", { fields: parseFieldSelector("metadata.name=rôle:é") })).items.length,
      1,
    );
  });
});
