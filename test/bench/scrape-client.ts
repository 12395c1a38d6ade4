/** The scraper of `scrape.ts`, on a thread of its own: first makes series by requests of many kinds, then reads /metrics. */
import { parentPort, workerData } from "node:worker_threads";
import { builtinResources } from "#api/schema/resources.ts";
import { must } from "#base/assert.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";

export interface ScrapeOrder {
  readonly what: "series" | "scrapes";
  readonly count: number;
}

/** Size of the last page. */
export interface ScrapeReport {
  readonly bytes: number;
  readonly lines: number;
}

const port = must(parentPort, "this file runs as a worker");
const http = new KubeHttp(credentialsOf(String(workerData)));

/** Asks for each built-in resource by every method, so that each has its rows of labels. */
async function makeSeries(): Promise<void> {
  const watches: Promise<void>[] = [];
  for (const { group, version, resource, namespaced } of builtinResources()) {
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const path = namespaced ? `${root}/namespaces/default/${resource}` : `${root}/${resource}`;
    await http.request("GET", `${root}/${resource}?limit=1`);
    await http.request("GET", `${path}?limit=1`);
    await http.request("GET", `${path}/missing`);
    await http.request("DELETE", `${path}/missing`);
    await http.request("POST", path, {});
    await http.request("PUT", `${path}/missing?dryRun=All`, {});
    await http.request("PATCH", `${path}/missing`, {}, "application/merge-patch+json");
    watches.push(http.watch(`${path}?watch=1&timeoutSeconds=1`, () => {}));
  }
  await Promise.all(watches);
}

async function scrape(count: number): Promise<ScrapeReport> {
  let text = "";
  for (let at = 0; at < count; at++) {
    const { status, body } = await http.request("GET", "/metrics");
    if (status !== 200) throw new Error(`/metrics answered ${status}`);
    text = String(body["text"]);
  }
  return { bytes: text.length, lines: text.split("\n").length };
}

async function follow({ what, count }: ScrapeOrder): Promise<ScrapeReport> {
  if (what === "series") await makeSeries();
  return scrape(count);
}

port.on("message", (order: ScrapeOrder) => {
  follow(order).then(
    (report) => port.postMessage(report),
    (error: unknown) => {
      throw error;
    },
  );
});
