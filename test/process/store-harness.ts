/** `pilothouse store` as a process of its own. */
import { spawn, type ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./harness.ts";
import { bound } from "./bound-child.ts";

export interface RunningStore {
  readonly child: ChildProcess;
  readonly url: string;
  output(): string;
  readonly exited: Promise<number>;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number>;
  kill(): Promise<void>;
}

/** Rejects with what was printed when it ends before it is ready. `wrap`: a command to run it under. */
export async function startStore(
  args: readonly string[],
  wrap: readonly string[] = [],
): Promise<RunningStore> {
  const own = [process.execPath, join(root, "bin", "pilothouse.mjs"), "store", ...args];
  const [command = "", ...rest] = [...wrap, ...own];
  const child = bound(spawn(command, rest, { cwd: tmpdir(), stdio: ["ignore", "pipe", "pipe"] }));
  let printed = "";
  const exited = new Promise<number>((resolve) => {
    child.on("exit", (code) => resolve(code ?? 128));
  });
  const ready = new Promise<string>((resolve) => {
    const see = (chunk: Buffer): void => {
      printed += chunk.toString();
      const url = /endpoint {2}(\S+)[\s\S]*revision \d+\n/.exec(printed)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout.on("data", see);
    child.stderr.on("data", see);
  });
  const url = await Promise.race([ready, exited]);
  if (typeof url === "number") throw new Error(`store ended with ${url}:\n${printed}`);
  return {
    child,
    url,
    output: () => printed,
    exited,
    stop: () => {
      child.kill("SIGTERM");
      return exited;
    },
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
