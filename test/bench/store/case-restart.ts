/**
 * From kill -9 to the first answer over gRPC, where a million keys come from the log alone, in no order:
 * pinned to one core, and with both.
 */
import { cpuSeconds } from "../process-cost.ts";
import { fill, valueBytes } from "./case-calls.ts";
import type { CaseOptions } from "./case-options.ts";
import { startEtcd, startOurs, type Core, type Server } from "./servers.ts";
import { rssMiB } from "./sample.ts";
import { median, figure, printTable, progress, progressDone, type Cell } from "./table.ts";

const keys = 1_000_000;
const restartSecondsMax = 5;

type Start = (directory: string | undefined, core: Core) => Promise<Server>;

interface Restart {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly rssMiB: number;
}

export async function restart({ etcd, runs }: CaseOptions): Promise<void> {
  const rows = await measure("pilothouse", runs, (directory, core) =>
    startOurs([], directory, core),
  );
  if (etcd !== undefined) {
    rows.push(
      ...(await measure("etcd", runs, (directory, core) => startEtcd(etcd, [], directory, core))),
    );
  }
  progressDone();
  const title = `kill -9 to serving, ${keys.toLocaleString("en-US")} keys of ${valueBytes} B from the log; medians of ${runs} (least - greatest)`;
  printTable(title, ["server", "cores", "s", "CPU s", "RSS MiB", "asked", "verdict"], rows);
}

async function measure(name: Server["name"], runs: number, start: Start): Promise<Cell[][]> {
  let server = await start(undefined, 0);
  try {
    await fill(server, keys, "scatter");
    const rows: Cell[][] = [];
    for (const core of [0, "any"] as const) {
      const restarts: Restart[] = [];
      for (let run = 0; run < runs; run++) {
        progress(`${name}: start ${run + 1} of ${runs} on core ${core}`);
        await server.stop("SIGKILL");
        server = await start(server.directory, core);
        restarts.push(seen(server));
      }
      rows.push(row(name, core, restarts));
    }
    return rows;
  } finally {
    await server.remove();
  }
}

function seen({ pid, readyMs }: Server): Restart {
  return { seconds: readyMs / 1000, cpuSeconds: cpuSeconds(pid), rssMiB: rssMiB(pid) };
}

function row(name: Server["name"], core: Core, restarts: readonly Restart[]): Cell[] {
  const seconds = restarts.map((one) => one.seconds);
  const ours = name === "pilothouse";
  return [
    name,
    core === "any" ? "both" : "one",
    spread(seconds),
    spread(restarts.map((one) => one.cpuSeconds)),
    spread(restarts.map((one) => one.rssMiB)),
    ours ? `<= ${restartSecondsMax} s` : "",
    !ours ? "" : median(seconds) <= restartSecondsMax ? "met" : "short",
  ];
}

function spread(values: readonly number[]): string {
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  return `${figure(median(values))} (${figure(least)} - ${figure(greatest)})`;
}
