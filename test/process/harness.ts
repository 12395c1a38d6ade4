/**
 * Drives the product as a user does: starts `bin/pilothouse.mjs` as a process of its own, waits for
 * its ready lines, runs the real kubectl against it, and takes everything down again.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bound } from "./bound-child.ts";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const launcher = join(root, "bin", "pilothouse.mjs");

/** Nothing that starts takes longer, on a machine with other work to do. */
const readyMsMax = 60_000;

export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly kubeconfig: string;
  readonly url: string;
  /** From spawn to the ready line. */
  readonly readyMs: number;
  /** Everything printed so far. */
  output(): string;
  /** SIGTERM, and the exit code; SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<number>;
  kill(): Promise<void>;
}

export function temporaryDirectory(name: string): string {
  return mkdtempSync(join(tmpdir(), `pilothouse-${name}-`));
}

export function removeDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}

/**
 * Starts `pilothouse up`; rejects with its output when it ends before it is ready. With an `environment`
 * it has that beside ours, and a channel for messages.
 */
export async function startUp(
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
): Promise<Running> {
  const startedMs = performance.now();
  const child = bound(
    spawn(process.execPath, [launcher, "up", ...args], {
      cwd: tmpdir(),
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe", ...(environment === undefined ? [] : ["ipc" as const])],
    }),
  );
  let printed = "";
  const collect = (chunk: Buffer): void => {
    printed += chunk.toString();
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  const exited = new Promise<number>((resolve) => {
    child.on("exit", (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
  });
  await untilReady(child, exited, () => printed);
  const readyMs = performance.now() - startedMs;
  return {
    child,
    pid: child.pid ?? 0,
    kubeconfig: matchOf(printed, /kubeconfig\s+(\S+)/),
    url: matchOf(printed, /(https:\/\/\S+)/),
    readyMs,
    output: () => printed,
    stop: (graceMs = 20_000) => stop(child, exited, graceMs),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function untilReady(
  child: ChildProcess,
  exited: Promise<number>,
  output: () => string,
): Promise<void> {
  const ready = new Promise<"ready">((resolve) => {
    child.stdout?.on("data", () => {
      if (/ready in [\d.]+ s[\s\S]*kubeconfig\s+\S+[\s\S]*kubectl create/.test(output()))
        resolve("ready");
    });
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), readyMsMax);
  });
  const outcome = await Promise.race([ready, exited, late]);
  clearTimeout(timer);
  if (outcome === "ready") return;
  child.kill("SIGKILL");
  throw new Error(`pilothouse up was not ready (${outcome}):\n${output()}`);
}

async function stop(
  child: ChildProcess,
  exited: Promise<number>,
  graceMs: number,
): Promise<number> {
  const hard = setTimeout(() => child.kill("SIGKILL"), graceMs);
  child.kill("SIGTERM");
  const code = await exited;
  clearTimeout(hard);
  return code;
}

function matchOf(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`no ${pattern} in:\n${text}`);
  return found;
}

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs pilothouse with `args` to its end. */
export function pilothouse(args: readonly string[], cwd = tmpdir()): CommandResult {
  return run(process.execPath, [launcher, ...args], { cwd });
}

export function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly input?: string; readonly env?: NodeJS.ProcessEnv },
): CommandResult {
  // Of /metrics, more than the host takes by default.
  const maxBuffer = 64 * 2 ** 20;
  const encoding = "utf8";
  const result = spawnSync(command, args, { encoding, timeout: 120_000, maxBuffer, ...options });
  // A program that is not there says nothing itself.
  const stderr = result.stderr ?? result.error?.message ?? "";
  return { code: result.status ?? 128, stdout: result.stdout ?? "", stderr };
}

/** Why a test that needs it is skipped. */
export const noKubectl = "no kubectl: set PILOTHOUSE_KUBECTL, or put it on the PATH";

/** The kubectl to test with: PILOTHOUSE_KUBECTL, else the one on PATH; undefined when there is none. */
export function findKubectl(): string | undefined {
  const wanted = process.env["PILOTHOUSE_KUBECTL"] ?? "kubectl";
  return run(wanted, ["version", "--client"], {}).code === 0 ? wanted : undefined;
}

export function kubectlEnvironment(kubeconfig: string, home: string): NodeJS.ProcessEnv {
  return { ...process.env, KUBECONFIG: kubeconfig, HOME: home, KUBE_EDITOR: "true" };
}
