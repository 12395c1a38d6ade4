/** `pilothouse doctor` as a process, and what it tells. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bound } from "./bound-child.ts";
import { type CommandResult, root } from "./harness.ts";

export interface Told {
  readonly findings: readonly { readonly rule: string; readonly culprit: string }[];
  readonly gaps: readonly { readonly what: string; readonly why: string; readonly right: string }[];
}

/**
 * Not `pilothouse()` of the harness: the server that is looked at may be in this process.
 * `aheadMs`: of its clock, before ours.
 */
export async function doctor(
  kubeconfig: string,
  meanwhile?: () => Promise<void>,
  more: readonly string[] = [],
  aheadMs = 0,
): Promise<CommandResult> {
  const args = ["doctor", "--format", "json", "--kubeconfig", kubeconfig, ...more];
  if (meanwhile !== undefined && !more.includes("--seconds")) args.push("--seconds", "3");
  const launcher = join(root, "bin", "pilothouse.mjs");
  const env = aheadMs === 0 ? process.env : { ...process.env, NODE_OPTIONS: clockAhead(aheadMs) };
  const child = bound(spawn(process.execPath, [launcher, ...args], { env }));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = once(child, "close");
  const isRunning = (): boolean => child.exitCode === null;
  while (meanwhile !== undefined && isRunning()) await meanwhile();
  const [code] = (await exited) as [number];
  return { code, stdout, stderr };
}

function clockAhead(ms: number): string {
  const code = `const now=Date.now.bind(Date);Date.now=()=>now()+${ms}`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

/** What would show what was not seen. */
export function rights({ stdout }: CommandResult): readonly string[] {
  return (JSON.parse(stdout) as Told).gaps.map(({ right }) => right).toSorted();
}

export interface Watching {
  /** The next line of a change that speaks of this. */
  change(of: string): Promise<string>;
  stop(): void;
}

export function watch(kubeconfig: string): Watching {
  const launcher = join(root, "bin", "pilothouse.mjs");
  const args = ["doctor", "--format", "json", "--watch", "1", "--kubeconfig", kubeconfig];
  const child = bound(spawn(process.execPath, [launcher, ...args]));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async change(of) {
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`the doctor ended before it spoke of ${of}`);
        if (value.includes(of)) return value;
      }
    },
    stop: () => void child.kill(),
  };
}
