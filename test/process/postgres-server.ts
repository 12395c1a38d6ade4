/** A real PostgreSQL on loopback as an unprivileged user, which can be killed and comes back with its data; and its standby. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { bound } from "./bound-child.ts";
import { freePort } from "./stock-apiserver.ts";

const readyMsMax = 60_000;
/** As root nothing of PostgreSQL runs: `nobody` has no rights anywhere else either. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
export const testPassword = "not to be logged";

export class PostgresServer {
  readonly port: number;
  readonly #programs: string;
  readonly #data: string;
  #child: ChildProcess | undefined;

  private constructor(programs: string, data: string, port: number) {
    this.#programs = programs;
    this.#data = data;
    this.port = port;
  }

  /** `directory`: made for it. `settings`: lines of its configuration. */
  static async start(
    programs: string,
    directory: string,
    settings: readonly string[] = [],
  ): Promise<PostgresServer> {
    makeDirectory(directory);
    const secret = join(directory, "password");
    writeFileSync(secret, testPassword, { mode: 0o644 });
    const server = new PostgresServer(programs, join(directory, "data"), await freePort());
    const init = [
      "-U",
      "pilot",
      "-A",
      "scram-sha-256",
      "--pwfile",
      secret,
      "-E",
      "UTF8",
      "--locale=C",
    ];
    server.#run("initdb", ["-D", server.#data, "-N", ...init]);
    await server.restart(settings);
    return server;
  }

  /** A synchronous standby of this one, once this one's settings name it. */
  async standby(directory: string): Promise<PostgresServer> {
    makeDirectory(directory);
    const standby = new PostgresServer(this.#programs, join(directory, "data"), await freePort());
    const from = ["-h", "127.0.0.1", "-p", String(this.port), "-U", "pilot"];
    standby.#run("pg_basebackup", ["-D", standby.#data, "-R", "-c", "fast", ...from]);
    await standby.restart();
    return standby;
  }

  get url(): string {
    return `postgres://pilot@127.0.0.1:${this.port}/postgres?sslmode=disable`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  promote(): void {
    this.#run("pg_ctl", ["promote", "-D", this.#data, "-w"]);
  }

  /** One statement, on a connection of its own. */
  async ask(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new Client({ ...this.#where(), connectionTimeoutMillis: 5000 });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<Record<string, unknown>>(text);
      return rows;
    } finally {
      client.end().catch(() => undefined);
    }
  }

  /** As a machine that lost its power, less what the host keeps. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    // SIGQUIT: its processes end at once, and nothing is written any more.
    child.kill("SIGQUIT");
    await once(child, "exit");
  }

  async restart(settings: readonly string[] = []): Promise<void> {
    const all = [
      `port=${this.port}`,
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "shared_buffers=16MB",
      "max_connections=40",
      "wal_level=replica",
      ...settings,
    ];
    const flags = all.flatMap((setting) => ["-c", setting]);
    const options = { stdio: "ignore", ...unprivileged } as const;
    const args = ["-D", this.#data, ...flags];
    this.#child = bound(spawn(join(this.#programs, "postgres"), args, options));
    for (const late = performance.now() + readyMsMax; ;) {
      try {
        return void (await this.ask("SELECT 1"));
      } catch (error) {
        if (performance.now() > late) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  #where(): object {
    const [user, database] = ["pilot", "postgres"];
    return { host: "127.0.0.1", port: this.port, user, database, password: testPassword };
  }

  #run(program: string, args: readonly string[]): void {
    const env = { ...process.env, PGPASSWORD: testPassword };
    const path = join(this.#programs, program);
    const { status, stderr } = spawnSync(path, args, { env, encoding: "utf8", ...unprivileged });
    if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
  }
}

function makeDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o711);
  const { uid, gid } = unprivileged;
  if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
}
