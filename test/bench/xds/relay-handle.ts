/** What is measured, as a process of its own: a relay, or a server of go-control-plane that stands in for one. */
import { fork, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bound } from "../../process/bound-child.ts";
import type { Command, Figures } from "./relay-process.ts";

/** A process that answers one command after the other. */
interface Answering {
  readonly say: (command: Command) => void;
  readonly onAnswer: (f: (answer: unknown) => void) => void;
  readonly kill: () => void;
}

export class RelayHandle {
  readonly #process: Answering;
  readonly #services: number;
  port = 0;

  constructor(process: Answering, services: number) {
    this.#process = process;
    this.#services = services;
  }

  async start(): Promise<void> {
    this.port = (await this.#ask({ kind: "start", services: this.#services })) as number;
  }

  async change(changes: readonly (readonly [string, number])[]): Promise<void> {
    await this.#ask({ kind: "change", changes });
  }

  async figures(): Promise<Figures> {
    return (await this.#ask({ kind: "figures" })) as Figures;
  }

  kill(): void {
    this.#process.kill();
  }

  #ask(command: Command): Promise<unknown> {
    return new Promise((resolve) => {
      this.#process.onAnswer(resolve);
      this.#process.say(command);
    });
  }
}

/** Ours. */
export function relayProcess(): Answering {
  const file = join(import.meta.dirname, "relay-process.ts");
  const child = bound(fork(file, [], { stdio: ["ignore", "inherit", "inherit", "ipc"] }));
  return {
    say: (command) => child.send(command),
    onAnswer: (f) => child.once("message", ({ answer }: { answer: unknown }) => f(answer)),
    kill: () => child.kill("SIGKILL"),
  };
}

/** @returns undefined when there is no Go to make it; the reason was printed. */
export function peerProcess(kind: string): Answering | undefined {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-xds-peer-"));
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  const program = join(directory, "peer");
  const cwd = join(import.meta.dirname, "peer");
  const { status } = spawnSync("go", ["build", "-o", program, "."], { cwd, stdio: "inherit" });
  if (status !== 0) {
    console.log("skipped: go-control-plane needs Go, and its modules, to be built");
    return undefined;
  }
  const child = bound(spawn(program, [kind], { stdio: ["pipe", "pipe", "inherit"] }));
  const lines = createInterface(child.stdout);
  return {
    say: (command) => child.stdin.write(`${JSON.stringify(command)}\n`),
    onAnswer: (f) =>
      lines.once("line", (line) => f((JSON.parse(line) as { answer: unknown }).answer)),
    kill: () => child.kill("SIGKILL"),
  };
}
