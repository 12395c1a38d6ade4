/**
 * What the disk takes for one small durable write, as the store's log makes it: `node disk-floor.ts
 * '<options as JSON>'` writes a record of `bytes` behind the other through a descriptor with O_DSYNC
 * into zeros written before, each waited for, and prints one DiskFloor.
 */
import { closeSync, constants, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Histogram } from "./sample.ts";

export interface DiskFloorOptions {
  readonly bytes: number;
  readonly seconds: number;
}

export interface DiskFloor {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const fileBytes = 64 * 2 ** 20;
const options = JSON.parse(process.argv[2] ?? "{}") as DiskFloorOptions;
const directory = mkdtempSync(join(tmpdir(), "bench-disk-"));
try {
  const path = join(directory, "log");
  const zeros = openSync(path, "w");
  writeSync(zeros, new Uint8Array(fileBytes));
  fsyncSync(zeros);
  closeSync(zeros);
  process.stdout.write(`${JSON.stringify(measure(path))}\n`);
} finally {
  rmSync(directory, { recursive: true });
}

function measure(path: string): DiskFloor {
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_DSYNC);
  const record = new Uint8Array(options.bytes).fill(1);
  const times = new Histogram();
  const endMs = performance.now() + options.seconds * 1000;
  for (let at = 0; performance.now() < endMs; at = (at + options.bytes) % (fileBytes / 2)) {
    const startMs = performance.now();
    writeSync(descriptor, record, 0, record.length, at);
    times.add(performance.now() - startMs);
  }
  closeSync(descriptor);
  return { p50Ms: times.quantile(0.5), p99Ms: times.quantile(0.99) };
}
