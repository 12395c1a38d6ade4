/** What a process has cost so far, from Linux's /proc; NaN elsewhere and of one that is gone. */
import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;

/** User and system time. */
export function cpuSeconds(pid: number | undefined): number {
  const stat = read(pid, "stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The same of all its threads, to the nanosecond: for windows shorter than a second. */
export function cpuNanoseconds(pid: number | undefined): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const of = (thread: string): number =>
    Number(read(pid, `task/${thread}/schedstat`).split(" ")[0] ?? Number.NaN);
  return threads.reduce((sum, thread) => sum + of(thread), 0);
}

export function residentBytes(pid: number | undefined): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(pid, "status"))?.[1] ?? Number.NaN) * 1024;
}

function read(pid: number | undefined, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
