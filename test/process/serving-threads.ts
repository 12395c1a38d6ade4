/** An API server that serves from several threads, as a process of its own whose threads can be ended or made to stand still. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { bound } from "./bound-child.ts";
import { removeDirectory, root, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import type { Fault } from "./thread-faults.ts";

export interface ServingThreads {
  readonly pid: number;
  connect(): KubeHttp;
  /** Threads that were started so far, the oldest first, by id. */
  readonly born: readonly number[];
  /** How many of them have begun to serve. */
  served(): number;
  send(to: number, fault: Fault): void;
  /** What it printed. */
  output(): string;
  /** @returns its exit code. */
  stop(): Promise<number>;
}

const readyMsMax = 120_000;

export async function startServingThreads(
  count: number,
  ...more: readonly string[]
): Promise<ServingThreads> {
  const directory = temporaryDirectory("serving-threads");
  const data = join(directory, "data");
  const preload = ["--import", join(root, "test", "process", "thread-faults.ts")];
  const at = ["apiserver", "--data-dir", data, "--secure-port", "0"];
  const args = [...at, ...more, "--serving-workers", String(count), "--log-level", "info"];
  const child = bound(
    spawn(process.execPath, [...preload, join(root, "bin", "pilothouse.mjs"), ...args], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    }),
  );
  const born: number[] = [];
  child.on("message", (message: { readonly born: number }) => void born.push(message.born));
  let printed = "";
  const exited = new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? 128)));
  const ready = new Promise<boolean>((resolve) => {
    const collect = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (printed.includes("ready in")) resolve(true);
    };
    child.stdout?.on("data", collect);
    child.stderr?.on("data", collect);
    setTimeout(() => resolve(false), readyMsMax).unref();
  });
  const end = async (signal: NodeJS.Signals): Promise<number> => {
    child.kill(signal);
    const code = await exited;
    removeDirectory(directory);
    return code;
  };
  if ((await Promise.race([ready, exited])) !== true) {
    await end("SIGKILL");
    throw new Error(`the server was not ready:\n${printed}`);
  }
  return {
    pid: child.pid ?? 0,
    connect: () => new KubeHttp(credentialsOf(join(data, "kubeconfig"))),
    born,
    served: () => printed.split("a serving thread listens").length - 1,
    send: (to, fault) => void child.send({ to, fault }),
    output: () => printed,
    stop: () => end("SIGTERM"),
  };
}
