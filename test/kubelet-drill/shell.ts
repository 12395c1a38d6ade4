/** Programs as promises: run one to its end, or look again and again until something is true. */
import { execFile } from "node:child_process";
import { setTimeout as after } from "node:timers/promises";
import { bound } from "../process/bound-child.ts";

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly input?: string;
  readonly timeoutMs?: number;
}

const outputBytesMax = 64 * 1024 * 1024;

/** Never rejects: a program that is absent or too slow ends with code 128. */
export function run(
  program: string,
  args: readonly string[],
  { env, cwd, input, timeoutMs = 120_000 }: RunOptions = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, cwd, timeout: timeoutMs };
    const child = bound(
      execFile(
        program,
        args,
        { ...options, maxBuffer: outputBytesMax },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : 128;
          resolve({
            code,
            stdout,
            stderr: stderr === "" && error !== null ? error.message : stderr,
          });
        },
      ),
    );
    // A program that ends without reading its input is judged by its exit code.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input ?? "");
  });
}

/** What it printed; rejects with its last lines when its exit code is not 0. */
export async function must(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, options);
  if (code === 0) return stdout;
  const said = (stderr + stdout).trim().split("\n").slice(-4).join(" / ");
  throw new Error(`${program} ${args.slice(0, 6).join(" ")}: exit code ${code}: ${said}`);
}

/** Looks every `everyMs` until the answer is not undefined. Real nodes have their own clock: the drill must poll. */
export async function until<Seen>(
  what: string,
  withinMs: number,
  look: () => Promise<Seen | undefined>,
  everyMs = 300,
): Promise<Seen> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (performance.now() > endMs) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
    await after(everyMs);
  }
}

export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
