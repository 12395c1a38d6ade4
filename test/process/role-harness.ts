/** Starts roles as processes of their own, as an operator does, and asks the API as their users do. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Pod } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { ApiConnection, apiAccess } from "#cmd/shared/api-access.ts";
import { bound } from "./bound-child.ts";
import { root } from "./harness.ts";

export interface RunningRole {
  readonly child: ChildProcess;
  output(): string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number>;
  kill(): Promise<number>;
}

const readyMsMax = 60_000;

/** Resolves when `ready` is in what it prints; rejects with all it printed when it ends before. */
export function startRole(
  args: readonly string[],
  ready = /started in|ready in|registering/,
): Promise<RunningRole> {
  return startProgram(process.execPath, [join(root, "bin", "pilothouse.mjs"), ...args], ready);
}

export async function startProgram(
  program: string,
  args: readonly string[],
  ready: RegExp,
): Promise<RunningRole> {
  const child = bound(spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] }));
  let printed = "";
  const exited = new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? 128)));
  const isReady = new Promise<true>((resolve) => {
    const collect = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (ready.test(printed)) resolve(true);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
  });
  const late = new Promise<false>((resolve) => {
    setTimeout(() => resolve(false), readyMsMax).unref();
  });
  const end = (signal: NodeJS.Signals): Promise<number> => {
    child.kill(signal);
    return exited;
  };
  const started = await Promise.race([isReady, exited, late]);
  if (started !== true) {
    await end("SIGKILL");
    throw new Error(`${program} ${args.join(" ")} was not ready:\n${printed}`);
  }
  return { child, output: () => printed, stop: () => end("SIGTERM"), kill: () => end("SIGKILL") };
}

export interface Asking {
  readonly client: Client;
  close(): void;
}

export async function clientOf(kubeconfig: string): Promise<Asking> {
  const connection = new ApiConnection(await apiAccess({ kubeconfig, logLevel: "silent" }), "test");
  return { client: connection.client(), close: () => connection.close() };
}

/** Polls, since what is awaited happens in other processes. Throws with `what` when it never does. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + readyMsMax;
  while (performance.now() < endMs) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`it never came: ${what}`);
}

export const podsRef = { group: "", version: "v1", resource: "pods" };

export function createPod(client: Client, name: string): Promise<Pod> {
  return client.create<Pod>(podsRef, "default", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "main", image: "nginx" }] },
  });
}

/** The node it is on; waits until there is one. */
export function nodeOf(client: Client, name: string): Promise<string> {
  return until(`pod ${name} on a node`, async () => {
    const pod = await client.get<Pod>(podsRef, "default", name);
    return pod.spec?.nodeName;
  });
}
