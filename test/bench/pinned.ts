/**
 * Processes of a benchmark, each on a core of its own (taskset, where there is one), and their lines.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { bound } from "../process/bound-child.ts";

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** With `stdin` "pipe" the benchmark writes to the process. */
export function pinned(
  core: number,
  program: string,
  args: readonly string[],
  stdin: "ignore" | "pipe" = "ignore",
): ChildProcess {
  const stdio = [stdin, "pipe", "inherit"] as const;
  const hasTaskset = spawnSync("taskset", ["-V"]).status === 0;
  if (!hasTaskset) return bound(spawn(program, args, { stdio: [...stdio] }));
  return bound(spawn("taskset", ["-c", String(core), program, ...args], { stdio: [...stdio] }));
}

export function linesOf(child: ChildProcess): () => Promise<string> {
  let text = "";
  const waiting: (() => void)[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    waiting.splice(0).forEach((wake) => wake());
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return async () => {
    while (!text.includes("\n")) {
      const more = new Promise<"more">((resolve) => waiting.push(() => resolve("more")));
      if ((await Promise.race([more, ended.then(() => "ended")])) === "ended") break;
    }
    const end = text.indexOf("\n");
    if (end < 0) throw new Error(`a process of the benchmark ended early: ${text}`);
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return line;
  };
}
