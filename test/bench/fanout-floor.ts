/**
 * Two servers that write as much as they can to a crowd of their own, on one core by turns: while one has
 * its window the other is stopped (SIGSTOP), and both meet the same moods of the host. What was written in
 * a window is what its client has read when nothing is left to read, so the client is no limit.
 */
import type { ChildProcess } from "node:child_process";
import { linesOf, pause, pinned } from "./pinned.ts";
import { cpuNanoseconds } from "./process-cost.ts";

export interface Contender {
  readonly server: ChildProcess;
  readonly client: ChildProcess;
  readonly lines: () => Promise<string>;
}

export interface Window {
  readonly bytesPerSecond: number;
  readonly bytesPerCpuSecond: number;
}

const windowMs = 600;
/** A client has read everything when nothing came for so long. */
const quietMs = 60;

/** `args` of the counting client without its end. The server is stopped when this returns. */
export async function contender(
  program: string,
  server: ChildProcess,
  load: { readonly port: number; readonly clients: number; readonly path: string },
): Promise<Contender> {
  const args = ["drain", load.port, load.clients, 0, 0, load.path].map(String);
  const client = pinned(1, program, args);
  const lines = linesOf(client);
  await lines();
  // It warms up: code is compiled, buffers have their size.
  await pause(1_000);
  server.kill("SIGSTOP");
  const made = { server, client, lines };
  await untilRead(made);
  return made;
}

export async function window({ server, ...rest }: Contender): Promise<Window> {
  const contender = { server, ...rest };
  const before = await untilRead(contender);
  const [cpu, since] = [cpuNanoseconds(server.pid), performance.now()];
  server.kill("SIGCONT");
  await pause(windowMs);
  server.kill("SIGSTOP");
  const seconds = (performance.now() - since) / 1e3;
  const bytes = (await untilRead(contender)) - before;
  const cpuSeconds = (cpuNanoseconds(server.pid) - cpu) / 1e9;
  return { bytesPerSecond: bytes / seconds, bytesPerCpuSecond: bytes / cpuSeconds };
}

export function dismiss({ server, client }: Contender): void {
  client.kill("SIGKILL");
  server.kill("SIGKILL");
}

async function untilRead({ client, lines }: Contender): Promise<number> {
  let last = Number.NaN;
  for (;;) {
    client.kill("SIGUSR1");
    const bytes = Number(await lines());
    if (bytes === last) return bytes;
    last = bytes;
    await pause(quietMs);
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
