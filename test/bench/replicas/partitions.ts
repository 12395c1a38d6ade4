/**
 * One log, and two logs in clusters of their own, each under as many clients. All processes share this machine's cores, so
 * what counts is the processor time of the busiest process for each put of them all: with cores for everybody it is
 * what bounds the rate.
 */
import { cpuSeconds } from "../process-cost.ts";
import type { Sample } from "../store/sample.ts";
import { generate } from "../store/servers.ts";
import { figure, median, printTable, progress, progressDone } from "../store/table.ts";
import { portOf, withReplicas, type CaseOptions, type Setting } from "./setting.ts";

const clients = 256;
const asked = 1.6;
const load = { kind: "put", keys: 10_000, valueBytes: 1024, connections: 8, warmSeconds: 1 };

interface Run {
  readonly perSecond: number;
  /** Of the process that took the most, for each put of all logs. */
  readonly busiestUs: number;
  readonly allUs: number;
}

export async function partitions(options: CaseOptions): Promise<void> {
  await withReplicas(options, 1, (one) =>
    withReplicas(options, 1, async (other) => {
      const single: Run[] = [];
      const double: Run[] = [];
      for (let run = 0; run < options.runs; run++) {
        progress(`partitions: run ${run + 1} of ${options.runs}`);
        single.push(await putInto([one], options.seconds));
        double.push(await putInto([one, other], options.seconds));
      }
      progressDone();
      const ratio = of(single, "busiestUs") / of(double, "busiestUs");
      printTable(
        `durable puts of ${load.valueBytes} B by ${clients} clients of each log, median of ${options.runs} runs of ${options.seconds} s`,
        ["logs", "", "put/s here", "CPU us/put, all", "busiest process", "x by its CPU", "asked"],
        [
          row("one", single, ["", ""]),
          row("two, each over three members", double, [figure(ratio), `>= ${asked}`]),
        ],
      );
    }),
  );
}

async function putInto(settings: readonly Setting[], seconds: number): Promise<Run> {
  const holders = await Promise.all(settings.map((setting) => setting.holder()));
  const pids = [
    ...settings.flatMap(({ etcd }) => etcd.pids),
    ...holders.map(({ store }) => store?.child.pid ?? 0),
  ];
  const before = pids.map(cpuSeconds);
  const startMs = performance.now();
  const samples = await Promise.all(
    holders.map(({ url, store }) =>
      generate<Sample>("generate.ts", {
        ...load,
        clients,
        seconds,
        port: portOf(url),
        serverPid: store?.child.pid ?? 0,
      }),
    ),
  );
  const perSecond = samples.reduce((sum, sample) => sum + sample.perSecond, 0);
  // The generator's start is in it, and its warm-up, at the same rate.
  const loadedSeconds = (performance.now() - startMs) / 1_000;
  const puts = perSecond * Math.min(loadedSeconds, seconds + load.warmSeconds);
  const each = pids.map((pid, at) => ((cpuSeconds(pid) - (before[at] ?? 0)) * 1e6) / puts);
  const allUs = each.reduce((sum, us) => sum + us, 0);
  return { perSecond, allUs, busiestUs: Math.max(...each) };
}

function of(runs: readonly Run[], field: keyof Run): number {
  return median(runs.map((run) => run[field]));
}

function row(logs: string, runs: readonly Run[], rest: readonly string[]) {
  const fields = ["perSecond", "allUs", "busiestUs"] as const;
  return [logs, "", ...fields.map((field) => of(runs, field)), ...rest];
}
