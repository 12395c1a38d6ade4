/** What the steps work on: the plane as a process, the nodes, and kubectl. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { bound } from "../process/bound-child.ts";
import { type Running, startUp } from "../process/harness.ts";
import { gateway } from "./network.ts";
import type { DrillNode } from "./node.ts";
import type { KubeObject } from "./objects.ts";
import { must, run, type Finished, type RunOptions } from "./shell.ts";

/** What `flow` saw of a program that goes on by itself. */
export interface Flow {
  lines(): readonly string[];
  stop(): Promise<void>;
}

export class Cluster {
  readonly folder: string;
  readonly bin: string;
  readonly nodes: DrillNode[] = [];
  /** Programs beside the plane; each ends with the cluster. */
  readonly #beside: ChildProcess[] = [];
  #plane: Running | undefined;
  #port = "0";

  constructor(folder: string, bin: string) {
    this.folder = folder;
    this.bin = bin;
  }

  get server(): string {
    return this.#plane?.url ?? "";
  }

  get authority(): string {
    return join(this.folder, "plane", "pki", "ca.crt");
  }

  get kubeconfig(): string {
    return join(this.folder, "plane", "kubeconfig");
  }

  /** Starts the plane; again with the port that it had. */
  async startPlane(...more: readonly string[]): Promise<void> {
    const data = ["--data-dir", join(this.folder, "plane"), "--nodes", "0"];
    const place = ["--host", gateway, "--port", this.#port];
    this.#plane = await startUp([...data, ...place, ...more]);
    this.#port = new URL(this.#plane.url).port;
  }

  async stopPlane(): Promise<void> {
    await this.#plane?.stop();
    this.#plane = undefined;
  }

  startBeside(program: string, args: readonly string[]): void {
    this.#beside.push(bound(spawn(program, args, { stdio: "ignore" })));
  }

  async stopAll(): Promise<void> {
    for (const child of this.#beside) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    await this.stopPlane();
  }

  /** What kubectl printed; rejects when it fails. */
  kubectl(...args: readonly string[]): Promise<string> {
    return must("kubectl", args, this.#options());
  }

  tryKubectl(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
    return run("kubectl", args, { ...this.#options(), ...options });
  }

  async apply(object: KubeObject): Promise<void> {
    const input = JSON.stringify(object);
    await must("kubectl", ["apply", "-f", "-"], { ...this.#options(), input });
  }

  /** Starts kubectl and collects its lines until it is stopped. */
  flow(...args: readonly string[]): Flow {
    const child = bound(
      spawn("kubectl", args, {
        env: { ...process.env, ...this.#environment() },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    const ended = new Promise((resolve) => child.once("exit", resolve));
    let text = "";
    const collect = (chunk: Buffer): void => {
      text += chunk.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    return {
      lines: () => text.split("\n").slice(0, -1),
      async stop() {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }

  #environment(): Record<string, string> {
    return { KUBECONFIG: this.kubeconfig, HOME: this.folder };
  }

  #options(): RunOptions {
    return { env: this.#environment() };
  }
}
