/** What a client of a follower waits for: a consistent read, and the events of writes made elsewhere. */
import { EtcdClient } from "../../../src/commit/etcd/client.ts";
import { Histogram } from "../store/sample.ts";
import { figure, median, printTable, progress, progressDone, type Cell } from "../store/table.ts";
import { withReplicas, type CaseOptions, type Setting } from "./setting.ts";

const writesPerSecond = 2000;
const tickMs = 5;

interface Seen {
  readonly readP50: number;
  readonly readP99: number;
  /** From the answer to the writer, at the holder, to the event at the follower. */
  readonly eventP50: number;
  readonly eventP99: number;
  readonly writes: number;
}

export async function follower(options: CaseOptions): Promise<void> {
  await withReplicas(options, 3, async (setting) => {
    const rows: Cell[][] = [];
    for (const rate of [0, writesPerSecond]) {
      const runs: Seen[] = [];
      for (let run = 0; run < options.runs; run++) {
        progress(`follower: ${rate} writes/s, run ${run + 1} of ${options.runs}`);
        runs.push(await look(setting, rate, options.seconds));
      }
      rows.push(rowOf(rate, runs));
    }
    progressDone();
    printTable(
      `a client of a follower, median of ${options.runs} runs of ${options.seconds} s; asked: reads p50 < 3 ms, events p50 < 5, p99 < 50 ms`,
      ["writes/s", "reached", "read p50 ms", "p99", "event p50 ms", "p99"],
      rows,
    );
  });
}

async function look(setting: Setting, rate: number, seconds: number): Promise<Seen> {
  const [at] = await setting.followers();
  const reader = new EtcdClient(at?.url ?? "");
  const writer = new EtcdClient((await setting.holder()).url);
  const acknowledged = new Map<number, number>();
  const events = watchDelays(reader, acknowledged);
  const reads = new Histogram();
  const endMs = performance.now() + seconds * 1000;
  const writing = write(writer, { rate, endMs }, acknowledged);
  while (performance.now() < endMs) {
    const startMs = performance.now();
    await reader.range({ key: "k1" });
    reads.add(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await writing;
  writer.close();
  reader.close();
  return {
    readP50: reads.quantile(0.5),
    readP99: reads.quantile(0.99),
    eventP50: events.quantile(0.5),
    eventP99: events.quantile(0.99),
    writes: acknowledged.size / seconds,
  };
}

/** An event that is there before the writer's answer counts as no delay. */
function watchDelays(client: EtcdClient, acknowledged: ReadonlyMap<number, number>): Histogram {
  const delays = new Histogram();
  const stream = client.watch();
  stream.send({ create: { key: "k", rangeEnd: "l" } });
  void (async () => {
    for (let answer = await stream.next(); answer !== undefined; answer = await stream.next()) {
      const nowMs = performance.now();
      for (const { kv } of answer.events) {
        const ackedMs = acknowledged.get(kv?.modRevision ?? 0);
        delays.add(ackedMs === undefined ? 0 : nowMs - ackedMs);
      }
    }
  })();
  return delays;
}

async function write(
  client: EtcdClient,
  { rate, endMs }: { readonly rate: number; readonly endMs: number },
  acknowledged: Map<number, number>,
): Promise<void> {
  const startMs = performance.now();
  const open = new Set<Promise<void>>();
  for (let sent = 0; performance.now() < endMs && rate > 0;) {
    const due = ((performance.now() - startMs) * rate) / 1000;
    for (; sent < due; sent++) {
      const one = client
        .put({ key: `k${sent % 1000}`, value: new Uint8Array(512) })
        .then(({ header }) => void acknowledged.set(header?.revision ?? 0, performance.now()))
        .finally(() => open.delete(one));
      open.add(one);
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  await Promise.all(open);
}

function rowOf(rate: number, runs: readonly Seen[]): Cell[] {
  const of = (field: keyof Seen): string => figure(median(runs.map((run) => run[field])));
  const events = rate === 0 ? ["", ""] : [of("eventP50"), of("eventP99")];
  return [figure(rate), of("writes"), of("readP50"), of("readP99"), ...events];
}
