/** Starts `pilothouse relay` as a process of its own before some upstream, with the plane's certificates. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./harness.ts";
import { bound } from "./bound-child.ts";

export interface RunningRelay {
  readonly url: string;
  readonly child: ChildProcess;
  readonly pid: number;
  /** The upstream's kubeconfig with the relay's address in it. */
  readonly kubeconfig: string;
  output(): string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number>;
  kill(): Promise<void>;
}

export interface RelayOptions {
  /** Of the upstream: admin's. */
  readonly kubeconfig: string;
  /** Instead of that kubeconfig: a URL and its files. */
  readonly access?: readonly string[];
  /** Where the relay's kubeconfig is written. */
  readonly directory: string;
  readonly name: string;
  /** The plane's keys. */
  readonly pki: string;
  readonly args: readonly string[];
  /** Beside ours; the relay then has a channel for messages. */
  readonly environment?: Readonly<Record<string, string>>;
}

const readyMsMax = 30_000;

export async function startRelay(options: RelayOptions): Promise<RunningRelay> {
  const { kubeconfig: upstream, pki } = options;
  const keys = ["--cert", join(pki, "apiserver.crt"), "--key", join(pki, "apiserver.key")];
  const access = options.access ?? ["--upstream", upstream];
  const args = ["relay", ...access, "--listen", "127.0.0.1:0", ...keys];
  const ca = join(pki, "ca.crt");
  // A stock server's tests come with tokens.
  if (existsSync(ca)) args.push("--client-ca", ca);
  args.push("--drain-seconds", "0", ...options.args);
  const launcher = join(root, "bin", "pilothouse.mjs");
  const { environment } = options;
  const child = bound(
    spawn(process.execPath, [launcher, ...args], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe", ...(environment === undefined ? [] : ["ipc" as const])],
    }),
  );
  let printed = "";
  child.stderr?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const exited = new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? 128)));
  const ready = new Promise<string>((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const url = /listens\s+(\S+)[\s\S]*frontends/.exec(printed)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const late = new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), readyMsMax).unref();
  });
  const url = await Promise.race([ready, late, exited.then(() => undefined)]);
  if (url === undefined) {
    child.kill("SIGKILL");
    throw new Error(`the relay was not ready:\n${printed}`);
  }
  const kubeconfig = join(options.directory, `${options.name}.kubeconfig`);
  const text = readFileSync(upstream, "utf8").replace(/https?:[^\s",]+/, url);
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  const end = (signal: NodeJS.Signals): Promise<number> => {
    child.kill(signal);
    return exited;
  };
  return {
    url,
    child,
    pid: child.pid ?? 0,
    kubeconfig,
    output: () => printed,
    stop: () => end("SIGTERM"),
    async kill() {
      await end("SIGKILL");
    },
  };
}
