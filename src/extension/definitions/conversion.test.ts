/** Reads and watches of definitions whose objects somebody else converts, with a converter of the test. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { failure } from "#api/status.ts";
import { ask, watch } from "#apiserver/testing/plane.ts";
import {
  cronTab,
  cronTabDefinition,
  type CustomPlane,
  cronTabs as v1,
  define,
  definitionsPath,
  openCustomPlane,
} from "../testing/plane.ts";

const v2 = v1.replace("/v1/", "/v2/");
const unknownFields = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const spec = { ...unknownFields, properties: { image: { type: "string" } } };
const schema = { openAPIV3Schema: { ...unknownFields, properties: { spec } } };
const selectableFields = [{ jsonPath: ".spec.image" }];
const version = (name: string) => ({
  name,
  served: true,
  storage: name === "v1",
  schema,
  selectableFields,
});
const webhook = { clientConfig: { url: "https://127.0.0.1:1/" }, conversionReviewVersions: ["v1"] };
const definition = cronTabDefinition(
  {},
  { versions: [version("v1"), version("v2")], conversion: { strategy: "Webhook", webhook } },
);
const merge = "application/merge-patch+json";
const inV2 = "stable.example.com/v2";

interface World extends CustomPlane {
  /** Names of the objects of each call. */
  readonly calls: (readonly string[])[];
  /** Calls wait from now on, until the result is called. */
  hold(): () => void;
  /** Set: calls fail with this text. */
  failure: string;
}

async function inWorld(f: (world: World) => Promise<void>, limits = {}): Promise<void> {
  const calls: (readonly string[])[] = [];
  let gate: Promise<void> | undefined;
  const state = { failure: "" };
  const convertMany = async (objects: readonly AnyObject[], apiVersion: string) => {
    calls.push(objects.map(({ metadata }) => metadata?.name ?? ""));
    await gate;
    if (state.failure !== "") throw failure(500, "", state.failure);
    return objects.map((object) => {
      const { image, ...rest } = (object["spec"] ?? {}) as { readonly image?: string };
      const shown = apiVersion === inV2 ? `${image}:v2` : image?.replace(/:v2$/, "");
      const spec = image === undefined ? rest : { ...rest, image: shown };
      return { ...object, apiVersion, converted: calls.length, spec };
    });
  };
  const converterOf = ({ spec }: { readonly spec: { conversion?: { strategy: string } } }) =>
    spec.conversion?.strategy === "Webhook" ? { convertMany } : undefined;
  const plane = await openCustomPlane({}, { converterOf, ...limits });
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return () => {
      gate = undefined;
      resolve();
    };
  };
  const world = Object.assign(state, plane, { calls, hold });
  try {
    await define(plane, definition);
    await f(world);
  } finally {
    await plane.close();
  }
}

async function create(world: World, name: string, image?: string): Promise<string> {
  const body = image === undefined ? cronTab(name) : cronTab(name, { image });
  const { status, text, json } = await ask(world, "POST", v1, { body });
  assert.equal(status, 201, text);
  return json.metadata?.resourceVersion ?? "";
}

/** Turns of the loop, until it is so. */
async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let turns = 0; turns < 1000; turns++) {
    if (isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail(what);
}

type Watching = Awaited<ReturnType<typeof watch>>;

function seen(watching: Watching): readonly string[] {
  return watching
    .events()
    .filter(({ type }) => type !== "BOOKMARK")
    .map(({ type, object }) => `${type} ${object.metadata?.name ?? ""} ${object.apiVersion ?? ""}`);
}

describe("a watch in a version that is not stored", () => {
  test("brings converted events in order, each converted once for all watchers", () =>
    inWorld(async (world) => {
      const watchers = await Promise.all([1, 2, 3].map(() => watch(world, `${v2}?watch=1`)));
      await create(world, "a");
      await create(world, "b");
      const body = { spec: { image: "new" } };
      await ask(world, "PATCH", `${v1}/a`, { body, type: merge });
      await ask(world, "DELETE", `${v1}/b`);
      const wanted = [
        `ADDED a ${inV2}`,
        `ADDED b ${inV2}`,
        `MODIFIED a ${inV2}`,
        `DELETED b ${inV2}`,
      ];
      for (const one of watchers) {
        await until(() => seen(one).length === 4, "four events");
        assert.deepEqual(seen(one), wanted);
        one.close();
      }
      // Each twice: `a` was changed, and what a DELETED event shows has a revision of its own.
      assert.deepEqual(world.calls.flat().toSorted(), ["a", "a", "b", "b"]);
    }));

  test("waits for a slow converter without losing what happens meanwhile", () =>
    inWorld(async (world) => {
      const watching = await watch(world, `${v2}?watch=1`);
      const release = world.hold();
      await create(world, "first");
      await until(() => world.calls.length > 0, "the converter is asked");
      for (let i = 0; i < 10; i++) await create(world, `more-${i}`);
      assert.deepEqual(seen(watching), []);
      release();
      await until(() => seen(watching).length === 11, "all events");
      const names = Array.from({ length: 10 }, (_, i) => `ADDED more-${i} ${inV2}`);
      assert.deepEqual(seen(watching), [`ADDED first ${inV2}`, ...names]);
      watching.close();
    }));

  test("ends with the converter's error, and goes on from there when it converts again", () =>
    inWorld(async (world) => {
      const position = await create(world, "before");
      const watching = await watch(world, `${v2}?watch=1&resourceVersion=${position}`);
      world.failure = "conversion webhook for x failed: it is dead";
      await create(world, "lost");
      await until(() => watching.ended, "the watch ends");
      const [last, ...more] = watching.events();
      assert.deepEqual([last?.type, more.length], ["ERROR", 0]);
      assert.deepEqual(last?.object["message"], world.failure);
      assert.deepEqual(last?.object["code"], 500);
      world.failure = "";
      const again = await watch(world, `${v2}?watch=1&resourceVersion=${position}`);
      await until(() => seen(again).length === 1, "the event comes");
      assert.deepEqual(seen(again), [`ADDED lost ${inV2}`]);
      again.close();
    }));

  test("starts with the whole state, converted, when it is asked to", () =>
    inWorld(async (world) => {
      for (let i = 0; i < 600; i++) await create(world, `o-${String(i).padStart(3, "0")}`);
      const start = `${v2}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
      const watching = await watch(world, start);
      await until(() => watching.events().some(({ type }) => type === "BOOKMARK"), "the bookmark");
      assert.equal(seen(watching).length, 600);
      assert.equal(
        seen(watching).every((line) => line.endsWith(inV2)),
        true,
      );
      assert.equal(watching.events().at(-1)?.type, "BOOKMARK");
      watching.close();
    }));

  test("takes no conversion for the metadata alone", () =>
    inWorld(async (world) => {
      world.failure = "dead";
      const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
      const watching = await watch(world, `${v2}?watch=1`, { headers: { accept } });
      await create(world, "a");
      await until(() => watching.events().length === 1, "the event");
      watching.close();
      assert.equal(world.calls.length, 0);
    }));
});

describe("a list in a version that is not stored", () => {
  async function names(world: World): Promise<readonly string[]> {
    const { status, text, json } = await ask(world, "GET", v2);
    assert.equal(status, 200, text);
    const { items } = json as unknown as { readonly items: readonly AnyObject[] };
    return items.map(({ metadata, apiVersion }) => `${metadata?.name ?? ""} ${apiVersion ?? ""}`);
  }

  test("is right when nothing that was converted can be kept", () =>
    inWorld(
      async (world) => {
        for (let i = 0; i < 50; i++) await create(world, `o-${i}`);
        const lists = await Promise.all([names(world), names(world), names(world)]);
        for (const list of lists) assert.equal(list.filter((one) => one.endsWith(inV2)).length, 50);
        assert.equal(world.calls.length, 1, "three lists at once wait for one conversion");
        await names(world);
        assert.equal(world.calls.length, 2);
      },
      { convertedBytesMax: 0 },
    ));

  test("fails while the converter fails, and nothing else does", () =>
    inWorld(async (world) => {
      await create(world, "a");
      world.failure = "conversion webhook for x failed: it is dead";
      const failed = await ask(world, "GET", v2);
      assert.deepEqual([failed.status, failed.json["message"]], [500, world.failure]);
      assert.equal((await ask(world, "GET", v1)).status, 200);
      assert.equal((await ask(world, "GET", "/api/v1/namespaces/default/configmaps")).status, 200);
      assert.equal((await ask(world, "GET", `${v1}/a`)).status, 200);
      world.failure = "";
      assert.deepEqual(await names(world), [`a ${inV2}`]);
    }));

  test("is refused when the definition changes meanwhile, and converted anew afterwards", () =>
    inWorld(async (world) => {
      await create(world, "a");
      const release = world.hold();
      const waiting = ask(world, "GET", v2);
      await until(() => world.calls.length === 1, "the converter is asked");
      const url = "https://127.0.0.1:2/";
      const body = { spec: { conversion: { webhook: { clientConfig: { url } } } } };
      const path = `${definitionsPath}/crontabs.stable.example.com`;
      const changed = await ask(world, "PATCH", path, { body, type: merge });
      assert.equal(changed.status, 200, changed.text);
      release();
      assert.equal((await waiting).status, 503);
      assert.deepEqual(await names(world), [`a ${inV2}`]);
      assert.equal(world.calls.length, 2);
    }));
});

describe("a field selector in a version that is not stored", () => {
  const red = "fieldSelector=spec.image%3Dred:v2";

  async function page(world: World, query: string): Promise<readonly [string, string]> {
    const { status, text, json } = await ask(world, "GET", `${v2}?${query}`);
    assert.equal(status, 200, text);
    const { items, metadata } = json as unknown as { items: AnyObject[]; metadata: object };
    assert.equal("remainingItemCount" in metadata, false);
    const names = items.map((item) => item.metadata?.name ?? "").join(" ");
    return [names, (metadata as { continue?: string }).continue ?? ""];
  }

  test("selects by what is shown, in lists of every form and their pages, and in the deletion of a collection", () =>
    inWorld(async (world) => {
      for (const name of ["a", "b", "c", "d", "e"])
        await create(world, name, name === "b" ? "blue" : "red");
      assert.deepEqual(await page(world, red), ["a c d e", ""]);
      assert.deepEqual(await page(world, `${red},metadata.name%3Dd`), ["d", ""]);
      assert.deepEqual(await page(world, "fieldSelector=spec.image%3Dred"), ["", ""]);
      const [first, token] = await page(world, `${red}&limit=2`);
      const [second, rest] = await page(world, `${red}&limit=2&continue=${token}`);
      assert.deepEqual([first, second, rest], ["a c", "d e", ""]);
      const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
      const { json } = await ask(world, "GET", `${v2}?${red}`, { headers: { accept } });
      assert.equal((json["items"] as unknown[]).length, 4);
      assert.equal((await ask(world, "DELETE", `${v2}?${red}`)).status, 200);
      assert.deepEqual(await page(world, ""), ["b", ""]);
    }));

  test("finds the last of more objects than are looked at in one turn", () =>
    inWorld(async (world) => {
      for (let i = 0; i < 1100; i++) await create(world, `o-${1000 + i}`, "blue");
      await create(world, "z", "red");
      assert.deepEqual(await page(world, `${red}&limit=1`), ["z", ""]);
      assert.deepEqual(await page(world, `${red}&limit=500`), ["z", ""]);
    }));

  test("tells a watch of objects that enter and leave the selection, each in the state that it showed", () =>
    inWorld(async (world) => {
      await create(world, "a", "red");
      await create(world, "b", "blue");
      const metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
      const watchers = [
        await watch(world, `${v2}?watch=1&${red}`),
        await watch(world, `${v2}?watch=1&${red}`, { headers: { accept: metadata } }),
      ];
      const change = async (name: string, spec: object): Promise<void> => {
        const body = { spec };
        const { status, text } = await ask(world, "PATCH", `${v1}/${name}`, { body, type: merge });
        assert.equal(status, 200, text);
      };
      await change("a", { cronSpec: "1 * * * *" });
      await change("b", { image: "red" });
      await change("a", { image: "blue" });
      await change("a", { cronSpec: "2 * * * *" });
      await ask(world, "DELETE", `${v1}/a`);
      await ask(world, "DELETE", `${v1}/b`);
      const wanted = ["ADDED a", "MODIFIED a", "ADDED b", "DELETED a", "DELETED b"];
      for (const one of watchers) {
        await until(() => one.events().length >= wanted.length, "five events");
        const lines = one
          .events()
          .map(({ type, object }) => `${type} ${object.metadata?.name ?? ""}`);
        assert.deepEqual(lines, wanted);
        one.close();
      }
      const images = watchers[0]?.events().map(({ object }) => object["spec"] as AnyObject);
      assert.deepEqual(new Set(images?.map((one) => one["image"])), new Set(["red:v2"]));
    }));
});
