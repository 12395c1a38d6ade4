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
const schema = {
  openAPIV3Schema: {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: {
      spec: {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { image: { type: "string" } },
      },
    },
  },
};
const selectableFields = [{ jsonPath: ".spec.image" }];
const version = (name: string) => {
  return { name, served: true, storage: name === "v1", schema, selectableFields };
};
const webhook = { clientConfig: { url: "https://127.0.0.1:1/" }, conversionReviewVersions: ["v1"] };
const definition = cronTabDefinition(
  {},
  { versions: [version("v1"), version("v2")], conversion: { strategy: "Webhook", webhook } },
);
const merge = "application/merge-patch+json";

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
    return objects.map((object) => ({
      ...object,
      apiVersion,
      converted: calls.length,
      ...shownElsewhere(object, apiVersion),
    }));
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

/** In v2 an image has a registry and is a label, too. */
function shownElsewhere(object: AnyObject, apiVersion: string): object {
  const { image = "" } = (object["spec"] ?? {}) as { readonly image?: string };
  if (!apiVersion.endsWith("/v2")) return {};
  const labels = { ...object.metadata?.labels, image };
  return {
    metadata: { ...object.metadata, labels },
    spec: { ...(object["spec"] as object), image: `registry/${image}` },
  };
}

async function create(world: World, name: string, image = "plain"): Promise<string> {
  const body = { ...cronTab(name), spec: { cronSpec: "* * * * *", image } };
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

const inV2 = "stable.example.com/v2";

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

  test("brings metadata alone as the version asked for has it", () =>
    inWorld(async (world) => {
      const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
      const stored = await watch(world, `${v1}?watch=1`, { headers: { accept } });
      const shown = await watch(world, `${v2}?watch=1`, { headers: { accept } });
      await create(world, "a");
      const labelsOf = async (watching: Watching) => {
        await until(() => watching.events().length === 1, "the event");
        watching.close();
        const [event] = watching.events();
        assert.equal(event?.object.kind, "PartialObjectMetadata");
        return event.object.metadata?.labels;
      };
      assert.equal(await labelsOf(stored), undefined);
      assert.deepEqual({ ...(await labelsOf(shown)) }, { image: "plain" });
    }));

  for (const selector of [
    "fieldSelector=spec.image%3Dregistry/blue",
    "labelSelector=image%3Dblue",
  ]) {
    test(`selects by the version asked for, and tells who comes and goes: ${selector}`, () =>
      inWorld(async (world) => {
        await create(world, "before", "blue");
        const start = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        const watching = await watch(world, `${v2}?watch=1&${selector}&${start}`);
        await until(() => seen(watching).length === 1, "the state");
        await create(world, "other", "red");
        await create(world, "a", "blue");
        const paint = async (image: string): Promise<void> => {
          const painted = { body: { spec: { image } }, type: merge };
          assert.equal((await ask(world, "PATCH", `${v1}/a`, painted)).status, 200);
        };
        const annotations = { x: "y" };
        const touch = { body: { metadata: { annotations } }, type: merge };
        await ask(world, "PATCH", `${v1}/a`, touch);
        await paint("red");
        await ask(world, "PATCH", `${v1}/a`, touch);
        await paint("blue");
        await ask(world, "DELETE", `${v1}/other`);
        await ask(world, "DELETE", `${v1}/a`);
        const wanted = ["before", "a", "a", "a", "a", "a"].map((name) => `${name} ${inV2}`);
        const types = ["ADDED", "ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"];
        await until(() => seen(watching).length === types.length, "all events");
        assert.deepEqual(
          seen(watching),
          types.map((type, at) => `${type} ${wanted[at] ?? ""}`),
        );
        const versions = watching
          .events()
          .map(({ object }) => Number(object.metadata?.resourceVersion));
        assert.deepEqual(
          versions,
          versions.toSorted((a, b) => a - b),
        );
        watching.close();
      }));
  }

  test("ends with the converter's error when it cannot tell what is selected", () =>
    inWorld(async (world) => {
      const watching = await watch(world, `${v2}?watch=1&labelSelector=image%3Dblue`);
      world.failure = "conversion webhook for x failed: it is dead";
      await create(world, "lost", "red");
      await until(() => watching.ended, "the watch ends");
      assert.deepEqual(
        watching.events().map(({ type, object }) => `${type} ${String(object["message"])}`),
        [`ERROR ${world.failure}`],
      );
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

  for (const selector of [
    "fieldSelector=spec.image%3Dregistry/blue",
    "labelSelector=image%3Dblue",
  ]) {
    test(`selects by the version asked for, in pages: ${selector}`, () =>
      inWorld(async (world) => {
        for (let i = 0; i < 600; i++) {
          await create(world, `o-${String(i).padStart(3, "0")}`, i % 3 === 0 ? "blue" : "red");
        }
        const named: string[] = [];
        let token = "";
        let pages = 0;
        do {
          const path = `${v2}?limit=70&${selector}&continue=${token}`;
          const { status, text, json } = await ask(world, "GET", path);
          assert.equal(status, 200, text);
          const list = json as unknown as { readonly items: readonly AnyObject[] };
          assert.ok(list.items.length <= 70);
          named.push(...list.items.map(({ metadata }) => metadata?.name ?? ""));
          token = (json.metadata as { readonly continue?: string }).continue ?? "";
          pages++;
        } while (token !== "");
        assert.deepEqual([named.length, new Set(named).size, pages], [200, 200, 3]);
        const stored = await ask(world, "GET", `${v1}?${selector}`);
        assert.deepEqual((stored.json as unknown as { readonly items: unknown[] }).items, []);
        assert.equal((await ask(world, "DELETE", `${v2}?${selector}`)).status, 200);
        assert.equal((await names(world)).length, 400);
      }));
  }

  test("of metadata alone is that of the version asked for", () =>
    inWorld(async (world) => {
      await create(world, "a");
      const type = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
      for (const accept of [
        `application/json;${type}`,
        `application/vnd.kubernetes.protobuf;${type}`,
      ]) {
        const labelled = async (path: string): Promise<boolean> =>
          (await ask(world, "GET", path, { headers: { accept } })).text.includes("plain");
        assert.deepEqual([await labelled(v1), await labelled(v2)], [false, true], accept);
      }
    }));

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

describe("a definition whose conversion webhook has a bad caBundle", () => {
  const path = `${definitionsPath}/crontabs.stable.example.com`;
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const bad = base64("nothing");
  // SEQUENCE { SEQUENCE {}, SEQUENCE {}, BIT STRING }
  const pem = `-----BEGIN CERTIFICATE-----\nMAgwADAAAwIAAQ==\n-----END CERTIFICATE-----\n`;
  const bundle = (caBundle: string): object => {
    return { spec: { conversion: { webhook: { clientConfig: { caBundle } } } } };
  };

  async function established(world: World): Promise<string> {
    // Of the last write: the controller's comes in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const { json } = await ask(world, "GET", path);
    const { conditions } = json["status"] as {
      readonly conditions: readonly { type: string; status: string; reason: string }[];
    };
    const found = conditions.find(({ type }) => type === "Established");
    return `${found?.status} ${found?.reason}`;
  }

  test("is not established and not served until the bundle is good, and keeps a good one then", () =>
    inWorld(async (world) => {
      assert.equal((await ask(world, "DELETE", path)).status, 200);
      const clientConfig = { url: "https://127.0.0.1:1/", caBundle: bad };
      const conversion = { strategy: "Webhook", webhook: { ...webhook, clientConfig } };
      const versions = [version("v1"), version("v2")];
      const body = cronTabDefinition({}, { versions, conversion });
      assert.equal((await ask(world, "POST", definitionsPath, { body })).status, 201);
      assert.equal(await established(world), "False InvalidCABundle");
      assert.equal((await ask(world, "GET", v1)).status, 404);
      const good = { body: bundle(base64(pem)), type: merge };
      assert.equal((await ask(world, "PATCH", path, good)).status, 200);
      assert.equal(await established(world), "True InitialNamesAccepted");
      assert.equal((await ask(world, "GET", v1)).status, 200);
      const refused = await ask(world, "PATCH", path, { body: bundle(bad), type: merge });
      assert.equal(refused.status, 422);
      const field = "spec.conversion.webhookClientConfig.caBundle";
      assert.equal(
        refused.json["message"],
        `CustomResourceDefinition.apiextensions.k8s.io "crontabs.stable.example.com" is invalid: ${field}: Invalid value: "${bad}": unable to load root certificates: unable to parse bytes as PEM block`,
      );
    }));
});
