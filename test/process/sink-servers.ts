/** Real servers that sinks write to, on loopback, each of which can be killed and comes back with its data. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { bound } from "./bound-child.ts";
import { freePort } from "./stock-apiserver.ts";

const readyMsMax = 30_000;

export class SinkServer {
  readonly port: number;
  readonly #program: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(program: string, port: number, args: readonly string[]) {
    this.#program = program;
    this.port = port;
    this.#args = args;
  }

  static async redis(program: string, directory: string): Promise<SinkServer> {
    mkdirSync(directory, { recursive: true });
    const port = await freePort();
    const place = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", directory];
    const kept = ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"];
    return SinkServer.start(program, port, [...place, ...kept]);
  }

  static async nats(program: string, directory: string): Promise<SinkServer> {
    const port = await freePort();
    const args = ["-js", "-a", "127.0.0.1", "-p", `${port}`, "-sd", directory];
    return SinkServer.start(program, port, args);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  static async start(program: string, port: number, args: readonly string[]): Promise<SinkServer> {
    const server = new SinkServer(program, port, args);
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    this.#child = bound(spawn(this.#program, this.#args, { stdio: "ignore" }));
    const endMs = performance.now() + readyMsMax;
    while (!(await this.#answers())) {
      if (performance.now() > endMs) throw new Error(`${this.#program} does not answer`);
      await sleep(50);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  #answers(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
  }
}
