/** Custom resources at the relay's door: tables, selectable fields, definitions that come, change and go. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { given } from "#base/given.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import type { AnyObject } from "#api/object.ts";
import { replayOf } from "#platform/replay.ts";
import { customPrinter } from "../kubernetes/custom-columns.ts";
import { customDefinition } from "./custom-kinds.ts";
import { relayLimits } from "../limits.ts";
import { definitionsKind, type MirroredKind } from "./mirrored-kind.ts";
import { createRelay, type Relay } from "../relay.ts";
import { chooseResources, UnknownResourceError } from "./resources.ts";
import { FakeCollections } from "../testing/fake-collections.ts";
import { plainGet, relayDeps, Watching } from "../testing/relay-fixture.ts";
import { podKind } from "../testing/fake-upstream.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const widgets = "/apis/example.com/v1/widgets";
const tableType = "application/json;as=Table;g=meta.k8s.io;v=v1";

const colourColumn = { name: "Colour", type: "string", jsonPath: ".spec.colour" };

interface CrdOptions {
  readonly generation?: number;
  readonly uid?: string;
  readonly columns?: readonly object[];
  readonly established?: boolean;
  readonly versions?: readonly object[];
}

function crd(options: CrdOptions = {}): AnyObject {
  const { generation = 1, uid = "u1", columns = [colourColumn], established = true } = options;
  const names = { plural: "widgets", kind: "Widget", listKind: "WidgetCollection" };
  const version = {
    name: "v1",
    served: true,
    storage: true,
    additionalPrinterColumns: columns,
    selectableFields: [{ jsonPath: ".spec.colour" }],
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com", uid, generation },
    spec: {
      group: "example.com",
      names,
      scope: "Namespaced",
      versions: options.versions ?? [version],
    },
    status: {
      acceptedNames: names,
      conditions: [{ type: "Established", status: established ? "True" : "False" }],
    },
  } as unknown as AnyObject;
}

function widget(name: string, colour: string): AnyObject {
  const metadata = { name, namespace: "ns", uid: `uid-${name}` };
  return { apiVersion: "example.com/v1", kind: "Widget", metadata, spec: { colour } } as AnyObject;
}

class World {
  readonly clock = new FakeClock();
  readonly fake = new FakeCollections();
  readonly relay: Relay;

  constructor(
    names: readonly string[],
    limits: Partial<typeof relayLimits> = {},
    defined: readonly AnyObject[] = [crd()],
  ) {
    this.fake.serve(crds);
    this.fake.serve(widgets);
    for (const definition of defined) this.fake.put(crds, definition);
    this.fake.put(widgets, widget("a", "red"));
    this.fake.put(widgets, widget("b", "blue"));
    this.relay = createRelay(relayDeps(this.clock, this.fake), {
      resources: [],
      views: [],
      custom: { definitions: definitionsKind, names },
      consistency: "cache",
      limits: { ...relayLimits, flushMs: 0, ...limits },
    });
  }

  async get(target: string, accept = "application/json"): Promise<{ code: number; json: Json }> {
    const answer = this.relay.handler(plainGet(target, { accept }));
    await this.clock.advance(500);
    const response = await answer;
    let text = "";
    if (response.kind === "bytes") text = Buffer.concat(response.body).toString();
    if (response.kind === "object") text = JSON.stringify(response.object);
    if (response.kind === "stream") {
      const passed = new Watching();
      response.open(passed);
      await this.clock.advance(1);
      ({ text } = passed);
    }
    return { code: response.status, json: JSON.parse(text) as Json };
  }

  async watch(target: string, accept = "application/json"): Promise<Watching> {
    const answer = this.relay.handler(plainGet(target, { accept }));
    await this.clock.advance(1);
    const response = await answer;
    const watching = new Watching();
    assert.equal(response.kind, "stream");
    if (response.kind === "stream") response.open(watching);
    return watching;
  }

  /** What went upstream about widgets since the last call, lists and watches apart from reads that passed. */
  passed(): number {
    const reads = this.fake.requests.filter(
      ({ target, headers }) => target.startsWith(widgets) && "impersonate-user" in headers,
    );
    return reads.length;
  }

  mirrored(): string[] {
    return this.relay.resources.map(({ kind }) => `${kind.version}/${kind.resource}`).sort();
  }

  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.fake.close();
    await this.clock.advance(100_000);
    await stopped;
  }
}

interface Json {
  readonly kind?: string;
  readonly columnDefinitions?: readonly { readonly name: string }[] | null;
  readonly rows?: readonly { readonly cells: readonly unknown[] }[];
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
}

const names = ({ json }: { json: Json }): string[] =>
  (json.items ?? []).map(({ metadata }) => metadata.name);

void describe("a custom resource", () => {
  void it("is shown as a table of the columns its definition declares", async () => {
    const world = new World(["widgets.example.com"]);
    await world.clock.advance(100);
    const { json } = await world.get(`${widgets}?resourceVersion=0`, tableType);
    assert.deepEqual(
      json.columnDefinitions?.map(({ name }) => name),
      ["Name", "Colour"],
    );
    assert.deepEqual(
      json.rows?.map(({ cells }) => cells),
      [
        ["a", "red"],
        ["b", "blue"],
      ],
    );
    const whole = await world.get(`${widgets}?resourceVersion=0`);
    assert.equal(whole.json.kind, "WidgetCollection", "the list's kind is the definition's");
    assert.equal(world.passed(), 0);
    await world.stop();
  });

  void it("is selected by the fields its definition lists, and by no others", async () => {
    const world = new World(["all"]);
    await world.clock.advance(100);
    const red = "fieldSelector=spec.colour%3Dred";
    assert.deepEqual(names(await world.get(`${widgets}?resourceVersion=0&${red}`)), ["a"]);
    const watching = await world.watch(`${widgets}?watch=true&resourceVersion=0&${red}`);
    world.fake.put(widgets, widget("a", "green"));
    world.fake.put(widgets, widget("c", "red"));
    await world.clock.advance(10);
    assert.deepEqual(
      watching.events.map(({ type, object }) => `${type} ${object.metadata?.name}`),
      ["ADDED a", "DELETED a", "ADDED c"],
    );
    assert.equal(world.passed(), 0);
    await world.get(`${widgets}?resourceVersion=0&fieldSelector=spec.size%3D1`);
    assert.equal(world.passed(), 1, "the upstream says what it thinks of that");
    await world.stop();
  });

  void it("is mirrored from the moment it is defined, when it has settled", async () => {
    const world = new World(["widgets.example.com"], {}, []);
    await world.clock.advance(100);
    assert.equal(world.relay.ready, true, "what may come is not waited for");
    assert.deepEqual(world.mirrored(), ["v1/customresourcedefinitions"]);
    world.fake.put(crds, crd({ established: false }));
    await world.clock.advance(2_000);
    assert.deepEqual(world.mirrored(), ["v1/customresourcedefinitions"], "not established");
    world.fake.put(crds, crd());
    await world.clock.advance(500);
    assert.deepEqual(names(await world.get(`${widgets}?resourceVersion=0`)), ["a", "b"]);
    assert.equal(world.passed(), 1, "until then it passes through");
    await world.clock.advance(1_000);
    assert.deepEqual(world.mirrored(), ["v1/customresourcedefinitions", "v1/widgets"]);
    await world.get(`${widgets}?resourceVersion=0`);
    assert.equal(world.passed(), 1);
    assert.equal(world.fake.watchers(widgets), 1);
    await world.stop();
  });

  void it("begins anew under a new definition: watches end, columns and objects are of the new one", async () => {
    const world = new World(["widgets.example.com"]);
    await world.clock.advance(100);
    const watching = await world.watch(`${widgets}?watch=true&resourceVersion=0`, tableType);
    const status = crd();
    world.fake.put(crds, { ...status, metadata: { ...status.metadata, labels: { a: "b" } } });
    await world.clock.advance(2_000);
    assert.equal(watching.ended, false, "a label of the definition changes no answer");
    const weight = { name: "Weight", type: "integer", jsonPath: ".spec.weight" };
    world.fake.put(crds, crd({ generation: 2, columns: [weight] }));
    await world.clock.advance(10);
    assert.equal(watching.ended, true);
    await world.clock.advance(2_000);
    const { json } = await world.get(`${widgets}?resourceVersion=0`, tableType);
    assert.deepEqual(
      json.columnDefinitions?.map(({ name }) => name),
      ["Name", "Weight"],
    );
    assert.deepEqual(json.rows?.[0]?.cells, ["a", null]);
    assert.equal(world.passed(), 0);
    await world.stop();
  });

  void it("tells who waits for a change that its mirror ends, and forgets the 304 it gave", async () => {
    const world = new World(["widgets.example.com"]);
    await world.clock.advance(100);
    const { handler } = world.relay;
    const first = await handler(plainGet(`/etag${widgets}`, { accept: "*/*" }));
    const etag = first.kind === "bytes" ? String(first.headers["etag"]) : "";
    const known = await handler(
      plainGet(`/etag${widgets}`, { accept: "*/*", "if-none-match": etag }),
    );
    const again = replayOf(known);
    assert.ok(known.status === 304 && again !== undefined);
    const waits = handler(
      plainGet(`/etag${widgets}?wait=30s`, { accept: "*/*", "if-none-match": etag }),
    );
    await world.clock.advance(1_000);
    world.fake.put(crds, crd({ generation: 2, columns: [] }));
    await world.clock.advance(10);
    const told = await waits;
    assert.equal(told.status, 503);
    assert.equal(told.headers["retry-after"], "1");
    assert.equal(again(), undefined);
    await world.clock.advance(2_000);
    assert.equal(
      (await handler(plainGet(`/etag${widgets}`, { accept: "*/*", "if-none-match": etag }))).status,
      304,
      "anew",
    );
    await world.stop();
  });

  void it("ends with its definition, and is asked for upstream from then on", async () => {
    const world = new World(["widgets.example.com"]);
    await world.clock.advance(100);
    const watching = await world.watch(`${widgets}?watch=true&resourceVersion=0`);
    world.fake.remove(crds, crd());
    world.fake.withdraw(widgets);
    await world.clock.advance(10);
    assert.equal(watching.ended, true);
    assert.equal((await world.get(`${widgets}?resourceVersion=0`)).code, 404);
    assert.equal(world.relay.ready, true);
    await world.stop();
  });

  void it("beyond the limit on mirrors passes through", async () => {
    const world = new World(["all"], { mirrorsMax: 1 });
    await world.clock.advance(100);
    assert.deepEqual(world.mirrored(), ["v1/customresourcedefinitions"]);
    assert.deepEqual(names(await world.get(`${widgets}?resourceVersion=0`)), ["a", "b"]);
    assert.equal(world.passed(), 1);
    await world.stop();
  });
});

void describe("columns of a custom resource", () => {
  const nowMs = Date.parse("2026-01-01T01:00:00Z");
  const rows: readonly (readonly [type: string, value: unknown, cell: unknown])[] = [
    ["string", "x", "x"],
    ["string", 7, "7"],
    ["string", { b: 1, a: [2] }, '{"a":[2],"b":1}'],
    ["string", undefined, null],
    ["integer", 3.9, 3],
    ["integer", "3", null],
    ["number", 3.5, 3.5],
    ["boolean", true, true],
    ["boolean", "true", null],
    ["date", "2026-01-01T00:00:00Z", "60m"],
    ["date", "", "<unknown>"],
    ["date", "yesterday", "<invalid>"],
    ["date", 5, null],
  ];

  void it("take their type's form, and null for what has another", () => {
    for (const [type, value, cell] of rows) {
      const made = customPrinter([{ name: "C", type, jsonPath: ".v" }]);
      const object = { metadata: { name: "n" }, ...given({ v: value }) };
      const shown = made.row(object as unknown as AnyObject, nowMs);
      assert.deepEqual(shown, ["n", cell], `${type} ${JSON.stringify(value)}`);
    }
  });

  void it("are Name and Age when none is declared, and say their path when nothing else is said", () => {
    const age = customPrinter([]);
    const object = { metadata: { name: "n", creationTimestamp: "2026-01-01T00:00:00Z" } };
    assert.deepEqual(age.row(object as AnyObject, nowMs), ["n", "60m"]);
    const one = customPrinter([{ name: "C", type: "string", jsonPath: ".v", priority: 1 }]);
    assert.deepEqual(one.columns[1], {
      name: "C",
      type: "string",
      format: "",
      description: "Custom resource definition column (in JSONPath format): .v",
      priority: 1,
    });
  });
});

void describe("names of custom resources", () => {
  const widgetKind: MirroredKind = {
    group: "example.com",
    version: "v1",
    resource: "widgets",
    kind: "Widget",
    namespaced: true,
    apiVersion: "example.com/v1",
  };

  void it("may be of what is not defined yet, when they say a group with a dot", () => {
    const all = [podKind, definitionsKind];
    for (const name of ["widgets.example.com", "example.com/v1/widgets"]) {
      const { awaited, custom } = chooseResources(all, ["pods", name]);
      assert.deepEqual([awaited, custom?.names], [[name], [name]]);
    }
    for (const name of ["widgets", "widgets.apps", "apps/v1/widgets", "v1/widgets", "a..b/"]) {
      assert.throws(() => chooseResources(all, [name]), UnknownResourceError, name);
    }
    assert.throws(
      () => chooseResources([podKind], ["widgets.example.com"]),
      /no resource that can be/,
    );
  });

  void it("without a group mean the one found at the start", () => {
    const { kinds, custom } = chooseResources([widgetKind, definitionsKind], ["widgets"]);
    assert.deepEqual([kinds, custom?.names], [[widgetKind], ["widgets.example.com"]]);
    assert.equal(chooseResources([podKind, definitionsKind], ["pods"]).custom, undefined);
  });

  void it("prefer the newest stable version that is served and not deprecated", () => {
    const versions = [
      { name: "v1beta1", served: true, storage: false },
      { name: "v2", served: false, storage: false },
      { name: "v1", served: true, storage: true },
      { name: "v3", served: true, storage: false, deprecated: true },
    ];
    const { kinds } = customDefinition(crd({ versions }) as never);
    assert.deepEqual(
      kinds.map(({ version }) => version),
      ["v1", "v1beta1"],
    );
  });
});
