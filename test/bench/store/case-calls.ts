/** Puts, guarded updates, gets and lists: closed loops on both servers. */
import { given } from "#base/given.ts";
import type { CaseOptions } from "./case-options.ts";
import { loadOn, startEtcd, startOurs, type Server } from "./servers.ts";
import { sideBySide, type Point } from "./side-by-side.ts";
import { progress } from "./table.ts";
import { fillCalls } from "./workloads.ts";

export const valueBytes = 1024;
const keys = 10_000;
const clientCounts = [1, 16, 64, 256];
/** At 16 clients nothing is asked of the rate but that p99 is no worse. */
const writeRatios: Readonly<Record<number, number>> = { 1: 1.5, 64: 2.5, 256: 2.5 };

export async function puts(options: CaseOptions): Promise<void> {
  await onBoth(options, (servers) =>
    sideBySide(servers, {
      title: `durable puts of ${valueBytes} B, ${howOf(options)}`,
      unit: "put",
      runs: options.runs,
      points: clientCounts.map((clients) => writePoint("put", clients, options.seconds)),
    }),
  );
}

export async function txns(options: CaseOptions): Promise<void> {
  await onBoth(options, (servers) =>
    sideBySide(servers, {
      title: `guarded updates of ${valueBytes} B (if mod_revision, then put, else get), ${howOf(options)}`,
      unit: "txn",
      runs: options.runs,
      points: clientCounts.map((clients) => writePoint("txn", clients, options.seconds)),
    }),
  );
}

export async function ranges(options: CaseOptions): Promise<void> {
  const { runs, seconds } = options;
  await onBoth(options, async (servers) => {
    for (const server of servers) await fill(server, keys);
    const title = `gets of one key of ${valueBytes} B, ${howOf(options)}`;
    const get = (clients: number): Point => ({
      name: clientsOf(clients),
      load: { kind: "range", clients, keys, valueBytes, seconds },
      asked: { ratioMin: 2, p99: true },
    });
    await sideBySide(servers, { title, unit: "get", runs, points: [1, 64].map(get) });
    const list = (clients: number): Point => ({
      name: clientsOf(clients),
      load: { kind: "list", clients, keys, valueBytes, seconds },
      asked: { ratioMin: 3, p99: true },
    });
    await sideBySide(servers, {
      title: `lists of ${keys} keys of ${valueBytes} B, ${howOf(options)}`,
      unit: "list",
      runs,
      points: [1, 4].map(list),
    });
  });
}

/** "scatter": in no order. */
export async function fill(
  server: Server,
  count: number,
  kind: "fill" | "scatter" = "fill",
): Promise<void> {
  progress(`${server.name}: filling ${count} keys of ${valueBytes} B`);
  const seconds = 0;
  const callsMax = fillCalls(count);
  await loadOn(server, { kind, clients: 8, keys: count, valueBytes, seconds, callsMax });
}

function writePoint(kind: "put" | "txn", clients: number, seconds: number): Point {
  const ratioMin = writeRatios[clients];
  return {
    name: clientsOf(clients),
    load: { kind, clients, keys, valueBytes, seconds },
    asked: { p99: true, ...given({ ratioMin }) },
  };
}

function clientsOf(clients: number): string {
  return `${clients} client${clients === 1 ? "" : "s"}`;
}

export function howOf({ runs, seconds }: CaseOptions): string {
  return `median of ${runs} runs of ${seconds} s`;
}

/** Ours first; etcd too, where it is. Both are gone when this returns. */
async function onBoth(
  { etcd }: CaseOptions,
  run: (servers: readonly Server[]) => Promise<void>,
): Promise<void> {
  const servers = [await startOurs()];
  try {
    if (etcd !== undefined) servers.push(await startEtcd(etcd));
    await run(servers);
  } finally {
    for (const server of servers) await server.remove();
  }
}
