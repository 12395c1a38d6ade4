/** How long a writer and a watcher at a follower wait when the holder of the log goes. */
import { EtcdClient } from "../../../src/commit/etcd/client.ts";
import { figure, median, printTable, progress, progressDone, type Cell } from "../store/table.ts";
import { withReplicas, type CaseOptions, type Setting } from "./setting.ts";

const ways = ["SIGKILL", "SIGTERM", "SIGSTOP"] as const;
const aboutWays: Readonly<Record<(typeof ways)[number], string>> = {
  SIGKILL: "killed",
  SIGTERM: "stopped well",
  SIGSTOP: "paused",
};
const asked: Readonly<Record<(typeof ways)[number], Cell>> = {
  SIGKILL: "2000, 3000",
  SIGTERM: "200",
  SIGSTOP: "",
};
const beforeMs = 1000;
const afterMs = 3000;

interface Waited {
  readonly writeMs: number;
  readonly watchMs: number;
  readonly failed: number;
}

export async function failover(options: CaseOptions): Promise<void> {
  await withReplicas(options, 3, async (setting) => {
    const rows: Cell[][] = [];
    for (const way of ways) {
      const waits: Waited[] = [];
      for (let run = 0; run < options.runs; run++) {
        progress(`failover: ${aboutWays[way]}, run ${run + 1} of ${options.runs}`);
        waits.push(await once(setting, way));
      }
      rows.push(rowOf(way, waits));
    }
    progressDone();
    printTable(
      `the holder of the log goes, one writer and one watcher at a follower, median of ${options.runs}`,
      [
        "holder",
        "signal",
        "no write ms",
        "highest",
        "no event ms",
        "highest",
        "writes refused",
        "asked at most",
      ],
      rows,
    );
  });
}

async function once(
  { holder, followers, replicas }: Setting,
  way: NodeJS.Signals,
): Promise<Waited> {
  const held = await holder();
  const [at] = await followers();
  const client = new EtcdClient(at?.url ?? "");
  const gaps = watchGaps(client);
  const endMs = performance.now() + beforeMs + afterMs;
  let lastMs = performance.now();
  let writeMs = 0;
  let failed = 0;
  setTimeout(() => held.store?.child.kill(way), beforeMs);
  for (let n = 0; performance.now() < endMs; n++) {
    try {
      await client.put({ key: `k${n % 100}`, value: Buffer.from(String(n)) });
      const nowMs = performance.now();
      writeMs = Math.max(writeMs, nowMs - lastMs);
      lastMs = nowMs;
    } catch {
      failed++;
    }
  }
  client.close();
  held.store?.child.kill("SIGCONT");
  await allBack(replicas);
  return { writeMs, watchMs: gaps.longestMs, failed };
}

function watchGaps(client: EtcdClient): { readonly longestMs: number } {
  const gaps = { longestMs: 0 };
  let lastMs = performance.now();
  const stream = client.watch();
  stream.send({ create: { key: "\0", rangeEnd: "\0" } });
  void (async () => {
    for (let answer = await stream.next(); answer !== undefined; answer = await stream.next()) {
      if (answer.events.length === 0) continue;
      gaps.longestMs = Math.max(gaps.longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    }
  })();
  return gaps;
}

/** Each one that ended was started again and answers. */
async function allBack(replicas: Setting["replicas"]): Promise<void> {
  for (const { url } of replicas) {
    for (let isBack = false; !isBack;) {
      const client = new EtcdClient(url);
      isBack = await client.status().then(
        () => true,
        () => false,
      );
      client.close();
      if (!isBack) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function rowOf(way: (typeof ways)[number], waits: readonly Waited[]): Cell[] {
  const of = (field: keyof Waited): number[] => waits.map((one) => one[field]);
  const both = (field: keyof Waited): Cell[] => [
    figure(median(of(field))),
    figure(Math.max(...of(field))),
  ];
  return [
    aboutWays[way],
    way,
    ...both("writeMs"),
    ...both("watchMs"),
    median(of("failed")),
    asked[way],
  ];
}
