/**
 * Our metrics beside upstream's list and beside what the mixins read: same names, types, stabilities, labels, buckets.
 *
 * docs/metrics.md is written from the same pages: `node test/metrics/names.test.ts --rewrite`.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { before, test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { podResourceMetrics } from "#scheduler/pod-resource-metrics.ts";
import { type Family, type Page, planePages, readPage, storePage } from "./served.ts";

function rowsOf(file: string): readonly (readonly string[])[] {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.map((line) => line.split(" "));
}

interface Upstream {
  readonly type: string;
  readonly stability: string;
  readonly roles: string;
  readonly labels: readonly string[];
  readonly buckets: readonly string[];
}

const listOf = (text: string): readonly string[] => (text === "-" ? [] : text.split(","));

const upstream: ReadonlyMap<string, Upstream> = new Map(
  rowsOf("./upstream-1.36.txt").map(
    ([name = "", type = "", stability = "", roles = "", labels = "-", buckets = "-"]) => [
      name,
      { type, stability, roles, labels: listOf(labels), buckets: listOf(buckets) },
    ],
  ),
);

/** Why a metric that is stable or beta upstream is not served. */
const absent: ReadonlyMap<string, string> = new Map(
  rowsOf("./absent.txt").map(([name = "", ...why]) => [name, why.join(" ")]),
);

/** One that has a series of each family of the scheduler's /metrics/resources. */
const amounts = { requests: { cpu: "1" }, limits: { cpu: "2" } };
const pod: Pod = { spec: { containers: [{ name: "main", resources: amounts }] } };

let plane: Page;
let slis: Page;
let store: Page;
let resources: Page;
const pages = (): readonly Page[] => [plane, slis, store, resources];

before(async () => {
  const texts = await planePages();
  plane = readPage(texts.metrics);
  slis = readPage(texts.slis);
  store = readPage(await storePage());
  resources = readPage(podResourceMetrics(() => [pod]).text());
});

function* served(): Generator<readonly [name: string, family: Family, of: Upstream]> {
  for (const page of [plane, slis, resources]) {
    for (const [name, family] of page) {
      const known = upstream.get(name);
      if (known !== undefined) yield [name, family, known];
    }
  }
}

test("a metric with upstream's name has upstream's type and stability", () => {
  const wrong: string[] = [];
  for (const [name, { type, help }, of] of served()) {
    if (of.type !== "custom" && type !== of.type) wrong.push(`${name}: ${type}, not ${of.type}`);
    const stability = /^\[(\w+)\] /.exec(help)?.[1]?.toLowerCase() ?? "none";
    if (stability !== of.stability) wrong.push(`${name}: ${stability}, not ${of.stability}`);
  }
  assert.deepEqual(wrong, []);
});

test("its series have upstream's labels and buckets", () => {
  const wrong: string[] = [];
  for (const [name, { type, samples }, of] of served()) {
    for (const sample of samples) {
      const labels = Object.keys(sample).filter((label) => label !== "le" || type !== "histogram");
      if (labels.toSorted().join() !== [...of.labels].join())
        wrong.push(`${name}: ${labels.join()}, not ${of.labels.join()}`);
    }
    const bounds = new Set(samples.flatMap(({ le }) => (le === undefined ? [] : [le])));
    bounds.delete("+Inf");
    if (type !== "histogram" || bounds.size === 0 || of.buckets.length === 0) continue;
    const same = [...bounds].map(Number).join() === of.buckets.map(Number).join();
    if (!same) wrong.push(`${name}: buckets ${[...bounds].join()}, not ${of.buckets.join()}`);
  }
  assert.deepEqual([...new Set(wrong)], []);
});

test("every stable and beta metric of our roles is served, or its absence has a reason", () => {
  const missing = [...upstream]
    .filter(([, { stability }]) => stability !== "alpha")
    .map(([name]) => name)
    .filter((name) => ![plane, slis, resources].some((page) => page.has(name)));
  assert.deepEqual(missing.toSorted(), [...absent.keys()].toSorted());
});

/** Components that are not ours; and what 1.36 no longer has. */
const foreign = new Set(["kubelet", "cadvisor", "kube-state-metrics", "node-exporter", "gone"]);

test("every series that the mixins read of our roles is served, with the labels that they match", () => {
  const missing: string[] = [];
  for (const [source, component = "", series = "", labels = "-"] of rowsOf("./mixin-series.txt")) {
    if (foreign.has(component)) continue;
    const page = component === "store" ? store : plane;
    const family = page.get(series) ?? page.get(series.replace(/_(bucket|count|sum)$/, ""));
    if (family === undefined) missing.push(`${source}: ${series}`);
    const lacking = listOf(labels).filter((label) => lacksLabel(family, series, label));
    if (lacking.length > 0) missing.push(`${source}: ${series} without ${lacking.join()}`);
  }
  assert.deepEqual(missing, []);
});

/** Of a family without series nothing is known of its labels but what upstream's list tells. */
function lacksLabel(family: Family | undefined, series: string, label: string): boolean {
  if (family === undefined || family.samples.length === 0) return false;
  if (label === "le") return !series.endsWith("_bucket") || family.type !== "histogram";
  return !family.samples.some((sample) => label in sample);
}

test("docs/metrics.md tells what is served", () => {
  const page = new URL("../../docs/metrics.md", import.meta.url);
  const text = document();
  if (process.argv.includes("--rewrite")) writeFileSync(page, text);
  assert.equal(readFileSync(page, "utf8"), text);
});

function document(): string {
  const head = readFileSync(new URL("./page-head.txt", import.meta.url), "utf8");
  const sections = [
    section(
      "Named as upstream names them",
      rows((name) => upstream.has(name)),
    ),
    section(
      "Named as etcd names them",
      rows((name) => /^(etcd|grpc_server|os)_/.test(name)),
    ),
    section(
      "Of the process",
      rows((name) => /^(process|nodejs|go)_/.test(name)),
    ),
    section(
      "Our own",
      rows((name) => /^(pilothouse_|workqueue_longest_waiting)/.test(name)),
    ),
  ];
  const reasons = [...absent].map(([name, why]) => `| \`${name}\` | ${why} |`);
  const missing = [
    "## Stable and beta upstream, and not here",
    "",
    "| metric | why |",
    "|---|---|",
  ];
  return `${[head.trimEnd(), ...sections, [...missing, ...reasons].join("\n")].join("\n\n")}\n`;
}

function section(title: string, lines: readonly string[]): string {
  const table = ["| metric | type | stability | labels |", "|---|---|---|---|", ...lines];
  return [`## ${title}`, "", ...table].join("\n");
}

/** Figures that only some hosts tell are left out, so that the page is the same everywhere. */
const ofSomeHosts = /^(process_(virtual_memory_bytes|open_fds|max_fds)|os_)/;

function rows(isIn: (name: string) => boolean): readonly string[] {
  const lines = new Map<string, string>();
  for (const page of pages()) {
    for (const [name, { type }] of page) {
      if (!isIn(name) || ofSomeHosts.test(name)) continue;
      const of = upstream.get(name);
      const labels = of?.labels.map((label) => `\`${label}\``).join(" ") ?? "";
      lines.set(name, `| \`${name}\` | ${type} | ${of?.stability ?? ""} | ${labels} |`);
    }
  }
  return [...lines.keys()].toSorted().map((name) => lines.get(name) ?? "");
}
