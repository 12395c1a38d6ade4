/** What one client's put is made of that no store can do without: the disk's write, and the answer. */
import { valueBytes } from "./case-calls.ts";
import type { CaseOptions } from "./case-options.ts";
import type { DiskFloor } from "./disk-floor.ts";
import { generate, loadOn, startNoStore } from "./servers.ts";
import { median, printTable, progress, progressDone, type Cell } from "./table.ts";

/** A record of such a value: header, key, padding. */
const recordBytes = 1104;
/** As long as V8 compiles both ends. */
const warmSeconds = 10;

export async function floor({ runs, seconds }: CaseOptions): Promise<void> {
  const server = await startNoStore(0);
  const load = { kind: "put", clients: 1, keys: 10_000, valueBytes, seconds } as const;
  const disk: DiskFloor[] = [];
  const answer: DiskFloor[] = [];
  try {
    await loadOn(server, { ...load, seconds: warmSeconds });
    for (let run = 0; run < runs; run++) {
      progress(`one client's put: the floor, run ${run + 1} of ${runs}`);
      disk.push(await generate<DiskFloor>("disk-floor.ts", { bytes: recordBytes, seconds }));
      answer.push(await loadOn(server, load, 2));
    }
  } finally {
    await server.remove();
  }
  progressDone();
  const row = (name: string, all: readonly DiskFloor[]): Cell[] => [
    name,
    median(all.map(({ p50Ms }) => p50Ms)),
    median(all.map(({ p99Ms }) => p99Ms)),
  ];
  const title = `What a put of ${valueBytes} B with one client is made of, median of ${runs} runs of ${seconds} s`;
  const rows = [
    row(`the disk: ${recordBytes} B through O_DSYNC`, disk),
    row("our gRPC face, no store", answer),
  ];
  printTable(title, ["part", "p50 ms", "p99 ms"], rows);
}
