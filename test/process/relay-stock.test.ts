/**
 * The relay before a stock API server, by the real kubectl: custom resources that are defined, read,
 * watched, redefined and removed while it runs. Skipped without the stock programs.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { type StockServer, startStock } from "../differential/servers.ts";
import {
  type CommandResult,
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  run,
  temporaryDirectory,
} from "./harness.ts";
import { noStock, stockPrograms } from "./peers.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const kubectl = findKubectl();
const programs = stockPrograms();
const skip = kubectl === undefined ? noKubectl : programs === undefined ? noStock : false;
const widgets = "/apis/example.com/v1/widgets";

void describe("a relay before a stock API server", { skip, timeout: 240_000 }, () => {
  const directory = temporaryDirectory("relay-stock");
  let stock: StockServer;
  let relay: RunningRelay;

  before(async () => {
    assert.ok(programs !== undefined);
    stock = await startStock(programs);
    const { kubeconfig, pki } = stock;
    const args = ["--resources", "pods,widgets.example.com", "--log-level", "info"];
    relay = await startRelay({ kubeconfig, pki, directory, name: "relay", args });
  });
  after(async () => {
    await Promise.allSettled([relay?.kill(), stock?.stop()]);
    removeDirectory(directory);
  });

  function kube(args: readonly string[], input = "", kubeconfig = relay.kubeconfig): CommandResult {
    const env = kubectlEnvironment(kubeconfig, directory);
    return run(kubectl ?? "", args, { env, input });
  }

  function both(...args: readonly string[]): string {
    const [here, there] = [kube(args), kube(args, "", stock.kubeconfig)];
    assert.equal(here.code, 0, here.stderr);
    assert.equal(withoutAges(here.stdout), withoutAges(there.stdout), args.join(" "));
    return here.stdout;
  }

  /** Requests for widgets that passed through, by the relay's own count, do not rise over `f`. */
  async function answeredHere(f: () => void | Promise<void>): Promise<void> {
    const before = upstreamAnswers();
    await f();
    assert.equal(upstreamAnswers(), before, "nothing passed through");
  }

  function upstreamAnswers(): string {
    const { stdout } = kube(["get", "--raw", "/relay/metrics"]);
    const line = stdout
      .split("\n")
      .find((text) => /requests_total\{by="upstream",code="200"/.test(text));
    return line ?? "none";
  }

  async function mirrored(revisionOf: string): Promise<void> {
    await until(() => kube(["get", "--raw", "/relay/metrics"]).stdout.includes(revisionOf));
  }

  void it("says what it awaits, and mirrors it once it is defined", async () => {
    assert.match(relay.output(), /awaits {6}widgets\.example\.com/);
    const made = kube(["apply", "-f", "-"], JSON.stringify(definition(columns)));
    assert.equal(made.code, 0, made.stderr);
    assert.equal(kube(["wait", "--for=condition=Established", "crd/widgets.example.com"]).code, 0);
    await until(() => kube(["apply", "-f", "-"], JSON.stringify(widgetList)).code === 0);
    await mirrored('relay_upstream_connected{resource="example.com/v1/widgets"} 1');
  });

  void it("shows its tables as the API server does, and selects by its fields", async () => {
    await answeredHere(() => {
      const narrow = both("get", "widgets");
      assert.match(narrow, /^NAME +COLOUR +WEIGHT +RATIO +BIG +MADE/);
      assert.match(both("get", "widgets", "-o", "wide"), /SHAPE/);
      assert.match(
        both("get", "widgets", "--field-selector", "spec.colour=red"),
        /^NAME[^\n]*\nred /,
      );
      both("get", "widgets", "--field-selector", "spec.colour!=red,spec.big=true");
      both("get", "widgets", "-o", "yaml");
      both("get", "widgets", "-A", "-l", "kind=odd");
    });
    both("get", "widget", "red");
    both("describe", "widget", "red");
    const refused = kube(["get", "widgets", "--field-selector", "spec.shape=round"]);
    const [here, there] = [
      refused,
      kube(["get", "widgets", "--field-selector", "spec.shape=round"], "", stock.kubeconfig),
    ];
    assert.equal(here.stderr, there.stderr);
  });

  void it("has the columns and cells of the API server's own table, but for the words about Name", async () => {
    for (const path of [widgets, `${widgets}?limit=1`, `${widgets}?includeObject=None`]) {
      const [here, there] = await Promise.all([table(relay.url, path), table(stock.url, path)]);
      assert.deepEqual(here, there, path);
    }
  });

  void it("is watched, ends its watches when it is redefined, and shows the new columns", async () => {
    const env = kubectlEnvironment(relay.kubeconfig, directory);
    const watching = spawn(kubectl ?? "", ["get", "widgets", "-w"], { env });
    let seen = "";
    watching.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
    const over = new Promise((resolve) => watching.on("exit", resolve));
    await until(() => seen.includes("plain"));
    const late = { ...widgetList.items[0], metadata: { name: "late", namespace: "default" } };
    assert.equal(kube(["apply", "-f", "-"], JSON.stringify(late)).code, 0);
    await until(() => seen.includes("late"));
    const next = [{ name: "Next", type: "string", jsonPath: ".spec.shape" }];
    assert.equal(kube(["apply", "-f", "-"], JSON.stringify(definition(next))).code, 0);
    await until(() => /NEXT/.test(kube(["get", "widgets"]).stdout));
    await over;
    await until(() => (relay.output().match(/mirror starts/g) ?? []).length >= 2);
    both("get", "widgets");
  });

  void it("is gone with its definition", async () => {
    assert.equal(kube(["delete", "crd", "widgets.example.com"]).code, 0);
    const missing = kube(["get", "--raw", widgets]);
    const there = kube(["get", "--raw", widgets], "", stock.kubeconfig);
    assert.equal(missing.stderr, there.stderr);
    assert.match(missing.stderr, /NotFound/);
  });
});

const columns = [
  { name: "Colour", type: "string", jsonPath: ".spec.colour" },
  { name: "Weight", type: "integer", jsonPath: ".spec.weight" },
  { name: "Ratio", type: "number", jsonPath: ".spec.ratio", format: "float" },
  { name: "Big", type: "boolean", jsonPath: ".spec.big", description: "is it big" },
  { name: "Made", type: "date", jsonPath: ".spec.made" },
  { name: "Shape", type: "string", jsonPath: ".spec.shape", priority: 1 },
  { name: "First", type: "string", jsonPath: ".spec.parts[0].name" },
  { name: "Parts", type: "string", jsonPath: ".spec.parts" },
  { name: "Nothing", type: "string", jsonPath: ".spec.nothing" },
  { name: "Odd", type: "integer", jsonPath: ".spec.colour" },
];

function definition(additionalPrinterColumns: readonly object[]): object {
  const part = { type: "object", properties: { name: { type: "string" } } };
  const properties = {
    colour: { type: "string" },
    shape: { type: "string" },
    weight: { type: "integer" },
    ratio: { type: "number" },
    big: { type: "boolean" },
    made: { type: "string" },
    nothing: { type: "string", nullable: true },
    parts: { type: "array", items: part },
  };
  const openAPIV3Schema = {
    type: "object",
    properties: { spec: { type: "object", properties } },
  };
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema },
    selectableFields: [{ jsonPath: ".spec.colour" }, { jsonPath: ".spec.big" }],
    additionalPrinterColumns,
  };
  const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetBox" };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: { group: "example.com", scope: "Namespaced", names, versions: [version] },
  };
}

const widgetList = {
  apiVersion: "v1",
  kind: "List",
  items: [
    widget("red", {
      colour: "red",
      weight: 3,
      ratio: 0.5,
      big: true,
      made: "2020-01-01T00:00:00Z",
      shape: "round",
      parts: [{ name: "wheel" }, { name: "<axle>" }],
      nothing: null,
    }),
    widget("blue", { colour: "blue", big: true, made: "yesterday", ratio: 1e21 }),
    widget("plain", {}),
  ],
};

function widget(name: string, spec: object): object {
  const metadata = {
    name,
    namespace: "default",
    labels: { kind: name === "red" ? "odd" : "even" },
  };
  return { apiVersion: "example.com/v1", kind: "Widget", metadata, spec };
}

/** A table, without what differs on purpose: the words about Name. */
async function table(url: string, path: string): Promise<unknown> {
  const { request } = await import("node:https");
  const headers = {
    authorization: "Bearer tok",
    accept: "application/json;as=Table;g=meta.k8s.io;v=v1",
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { rejectUnauthorized: false, headers }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => {
        const body = JSON.parse(text) as { columnDefinitions: { description?: string }[] };
        const [name] = body.columnDefinitions;
        if (name !== undefined) name.description = "";
        resolve(body);
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** Seconds pass between two reads. */
function withoutAges(text: string): string {
  return text.replace(/\b[0-9]+(s|m[0-9]+s)\b/g, "AGE");
}

async function until(reached: () => boolean, withinMs = 30_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!reached()) {
    assert.ok(performance.now() < end, `not within ${withinMs} ms: ${reached.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
