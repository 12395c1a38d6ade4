/**
 * What a scrape of /metrics costs the loop of a server with many objects and many series; for `npm run bench -- gates`.
 *
 * The server runs here, the scraper on another thread. Loop time is what this thread's event loop was active, encryption
 * and sending included; the longest turn is by how much a timer of a millisecond came late at most.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import { type ControlPlane, startControlPlane } from "../../src/run/cmd/embed.ts";
import type { ScrapeOrder, ScrapeReport } from "./scrape-client.ts";

const scrapes = 50;
const writers = 64;

/** Milliseconds, unless the name says otherwise. */
export async function measureScrape(objects: number): Promise<Readonly<Record<string, number>>> {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-scrape-"));
  const plane = await startControlPlane({ nodes: 1, logLevel: "silent" });
  try {
    await fill(plane, objects);
    const kubeconfig = join(directory, "kubeconfig");
    writeFileSync(kubeconfig, plane.kubeconfig);
    const client = new Worker(new URL("./scrape-client.ts", import.meta.url), {
      workerData: kubeconfig,
    });
    try {
      return await measured(client);
    } finally {
      await client.terminate();
    }
  } finally {
    await plane.stop();
    rmSync(directory, { recursive: true });
  }
}

async function fill({ client }: ControlPlane, objects: number): Promise<void> {
  const ref = { group: "", version: "v1", resource: "configmaps" };
  const pad = "x".repeat(200);
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < objects) {
      const name = `object-${next++}`;
      const metadata = { name, labels: { app: name, team: `team-${next % 100}` } };
      await client.create(ref, "default", { metadata, data: { pad } } as never);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
}

async function ask(client: Worker, order: ScrapeOrder): Promise<ScrapeReport> {
  client.postMessage(order);
  const [report] = (await once(client, "message")) as [ScrapeReport]; // as scrape-client.ts sends them
  return report;
}

async function measured(client: Worker): Promise<Readonly<Record<string, number>>> {
  const { bytes, lines } = await ask(client, { what: "series", count: 20 });
  const before = performance.eventLoopUtilization();
  await ask(client, { what: "scrapes", count: scrapes });
  const { active, utilization } = performance.eventLoopUtilization(before);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await ask(client, { what: "scrapes", count: scrapes });
  delay.disable();
  const lateMs = (ns: number): number => Number((ns / 1e6 - 1).toFixed(1));
  return {
    "lines of the page": lines,
    "bytes of the page": bytes,
    "loop time a scrape": Number((active / scrapes).toFixed(2)),
    "share of the loop while scraping": Number(utilization.toFixed(2)),
    "longest turn": lateMs(delay.max),
    "99th percentile of turns": lateMs(delay.percentile(99)),
  };
}
