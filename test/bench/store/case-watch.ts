/** Watch fan-out: many watchers over gRPC on both servers, and a firehose inside the process. */
import type { CaseOptions } from "./case-options.ts";
import type { Sample } from "./sample.ts";
import { generate, onCore, startEtcd, startOurs, type Server } from "./servers.ts";
import { figure, median, printTable, progress, progressDone, type Cell } from "./table.ts";
import type { InsideOptions } from "./watch-inside.ts";
import type { WatchOptions, WatchSample } from "./watch-load.ts";

const load = {
  watchers: 1000,
  connections: 10,
  eventsPerSecond: 1000,
  warmSeconds: 1,
  valueBytes: 128,
} as const satisfies Partial<WatchOptions>;
const lagMsMax = 100;

const inside = {
  watchers: 8,
  eventsPerSecond: 100_000,
  warmSeconds: 1,
  valueBytes: 128,
} as const satisfies Partial<InsideOptions>;
const insideLagMsMax = 50;

export async function watch(options: CaseOptions): Promise<void> {
  await overGrpc(options);
  await inProcess(options);
}

async function overGrpc({ etcd, runs, seconds }: CaseOptions): Promise<void> {
  const { watchers, eventsPerSecond, valueBytes } = load;
  const title = `${watchers} watchers x ${eventsPerSecond} events/s of ${valueBytes} B, one prefix, a stream each, median of ${runs} runs of ${seconds} s`;
  const rows = [await many("pilothouse", runs, seconds, () => startOurs())];
  if (etcd !== undefined) rows.push(await many("etcd", runs, seconds, () => startEtcd(etcd)));
  progressDone();
  const head = ["server", "deliveries/s", "lag p50 ms", "lag p99 ms", "asked", "p99 of runs"];
  const more = ["missing", "CPU us/delivery", "RSS MiB", "generator CPU", "verdict"];
  printTable(title, [...head, ...more], rows);
}

/** A server that falls behind carries it into the next run, so each run has a fresh one. */
async function many(
  name: string,
  runs: number,
  seconds: number,
  start: () => Promise<Server>,
): Promise<Cell[]> {
  const samples: WatchSample[] = [];
  for (let run = 0; run < runs; run++) {
    progress(`watch: ${name}, run ${run + 1} of ${runs}`);
    const server = await start();
    try {
      const where = { port: server.port, serverPid: server.pid };
      samples.push(await generate("watch-load.ts", { ...load, seconds, ...where }));
    } finally {
      await server.remove();
    }
  }
  const p99 = median(samples.map(({ p99Ms }) => p99Ms));
  const missing = Math.max(...samples.map((sample) => sample.missing));
  const met = p99 < lagMsMax && missing === 0;
  const cells = ["perSecond", "p50Ms", "p99Ms"] as const;
  const after = ["cpuUsPerCall", "rssMiB", "generatorCpu"] as const;
  const of = (field: keyof Sample): number => median(samples.map((sample) => sample[field]));
  return [
    name,
    ...cells.map(of),
    `< ${lagMsMax}`,
    spread(samples),
    missing === 0 ? "none" : missing,
    ...after.map(of),
    met ? "met" : "short",
  ];
}

async function inProcess({ runs, seconds }: CaseOptions): Promise<void> {
  const { watchers, eventsPerSecond, valueBytes } = inside;
  const samples: Sample[] = [];
  for (let run = 0; run < runs; run++) {
    progress(`watch in process: run ${run + 1} of ${runs}`);
    samples.push(await generate("watch-inside.ts", { ...inside, seconds }));
  }
  progressDone();
  const of = (field: keyof Sample): number => median(samples.map((sample) => sample[field]));
  const verdict = of("p99Ms") < insideLagMsMax ? "met" : "short";
  printTable(
    `in process: ${watchers} watchers x ${figure(eventsPerSecond)} durable events/s of ${valueBytes} B, median of ${runs} runs of ${seconds} s${onCore(0, [])[0] === "" ? "" : ", one core"}`,
    ["deliveries/s", "lag p50 ms", "lag p99 ms", "asked", "p99 of runs", "CPU us", "verdict"],
    [
      [
        of("perSecond"),
        of("p50Ms"),
        of("p99Ms"),
        `< ${insideLagMsMax}`,
        spread(samples),
        of("cpuUsPerCall"),
        verdict,
      ],
    ],
  );
}

function spread(samples: readonly Sample[]): string {
  const all = samples.map(({ p99Ms }) => p99Ms);
  return `${figure(Math.min(...all))} - ${figure(Math.max(...all))}`;
}
