/** Lists at the holder alone, and spread over three replicas: what a byte of them costs the holder. */
import { EtcdClient } from "../../../src/commit/etcd/client.ts";
import { cpuSeconds } from "../process-cost.ts";
import { figure, median, printTable, progress, progressDone } from "../store/table.ts";
import { withReplicas, type CaseOptions, type Setting } from "./setting.ts";

const objects = 5_000;
const valueBytes = 1024;
const asked = 2.5;
const all = { key: "/objects/", rangeEnd: "/objects0" };

interface Listed {
  readonly megabytesPerSecond: number;
  readonly holderCpu: number;
  readonly megabytesPerHolderCpu: number;
}

export async function lists(options: CaseOptions): Promise<void> {
  await withReplicas(options, 3, async (setting) => {
    const holder = await setting.holder();
    await fill(holder.url);
    const alone: Listed[] = [];
    const spread: Listed[] = [];
    for (let run = 0; run < options.runs; run++) {
      progress(`lists: run ${run + 1} of ${options.runs}`);
      alone.push(await listFrom(setting, [holder.url], options.seconds));
      const urls = setting.replicas.map(({ url }) => url);
      spread.push(await listFrom(setting, urls, options.seconds));
    }
    progressDone();
    const ratio = of(spread, "megabytesPerHolderCpu") / of(alone, "megabytesPerHolderCpu");
    printTable(
      `lists of ${objects} objects of ${valueBytes} B, each as new as can be, median of ${options.runs} runs of ${options.seconds} s`,
      [
        "listed at",
        "",
        "MB/s",
        "holder's CPU, cores",
        "MB per CPU-second of the holder",
        "x",
        "asked",
      ],
      [
        row("the holder", alone, ["", ""]),
        row("three replicas", spread, [figure(ratio), `>= ${asked}`]),
      ],
    );
  });
}

async function fill(url: string): Promise<void> {
  const client = new EtcdClient(url);
  const value = new Uint8Array(valueBytes);
  await Promise.all(
    Array.from({ length: objects }, (_, at) => client.put({ key: `/objects/${at}`, value })),
  );
  client.close();
}

/** One list after the other at each. */
async function listFrom(
  setting: Setting,
  urls: readonly string[],
  seconds: number,
): Promise<Listed> {
  const pid = (await setting.holder()).store?.child.pid;
  const clients = urls.map((url) => new EtcdClient(url));
  const before = cpuSeconds(pid);
  const startMs = performance.now();
  let bytes = 0;
  const list = async (client: EtcdClient): Promise<void> => {
    while (performance.now() - startMs < seconds * 1_000) {
      const { kvs } = await client.range(all);
      for (const { value } of kvs) bytes += value.length;
    }
  };
  await Promise.all(clients.map(list));
  const tookSeconds = (performance.now() - startMs) / 1_000;
  const cpu = cpuSeconds(pid) - before;
  for (const client of clients) client.close();
  return {
    megabytesPerSecond: bytes / 1e6 / tookSeconds,
    holderCpu: cpu / tookSeconds,
    megabytesPerHolderCpu: bytes / 1e6 / cpu,
  };
}

function of(runs: readonly Listed[], field: keyof Listed): number {
  return median(runs.map((run) => run[field]));
}

function row(where: string, runs: readonly Listed[], rest: readonly string[]) {
  const fields = ["megabytesPerSecond", "holderCpu", "megabytesPerHolderCpu"] as const;
  return [where, "", ...fields.map((field) => of(runs, field)), ...rest];
}
