/** A real etcd cluster of several members on loopback, each of which can be killed and comes back with its data. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { EtcdClient } from "#etcd/client.ts";
import { bound } from "./bound-child.ts";
import { freePort } from "./stock-apiserver.ts";

const readyMsMax = 30_000;

interface Member {
  readonly name: string;
  readonly url: string;
  readonly peer: string;
  child: ChildProcess | undefined;
}

export class EtcdCluster {
  readonly #program: string;
  readonly #directory: string;
  readonly #flags: readonly string[];
  readonly #members: readonly Member[];

  private constructor(
    program: string,
    directory: string,
    flags: readonly string[],
    members: readonly Member[],
  ) {
    this.#program = program;
    this.#directory = directory;
    this.#flags = flags;
    this.#members = members;
  }

  static async start(
    program: string,
    directory: string,
    count: number,
    flags: readonly string[] = [],
  ): Promise<EtcdCluster> {
    const members: Member[] = [];
    for (let i = 0; i < count; i++) {
      const url = `http://127.0.0.1:${await freePort()}`;
      const peer = `http://127.0.0.1:${await freePort()}`;
      members.push({ name: `m${i}`, url, peer, child: undefined });
    }
    const cluster = new EtcdCluster(program, directory, flags, members);
    for (const member of members) cluster.#spawn(member);
    await Promise.all(members.map(untilReady));
    return cluster;
  }

  get urls(): readonly string[] {
    return this.#members.map(({ url }) => url);
  }

  get pids(): readonly number[] {
    return this.#members.flatMap(({ child }) => (child?.pid === undefined ? [] : [child.pid]));
  }

  /** @returns the member that leads, by its place in `urls`. */
  async leader(): Promise<number> {
    for (const [at, { url }] of this.#members.entries()) {
      const client = new EtcdClient(url);
      const status = await client.status().catch(() => undefined);
      client.close();
      if (status !== undefined && status.leader === status.header?.memberId) return at;
    }
    return 0;
  }

  async kill(at: number): Promise<void> {
    const child = this.#members[at]?.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async restart(at: number): Promise<void> {
    const member = this.#members[at];
    if (member === undefined) return;
    this.#spawn(member);
    await untilReady(member);
  }

  /** What `etcdctl snapshot restore` needs, to make this member's data. */
  restoreFlags(at: number): readonly string[] {
    const { name = "", peer = "" } = this.#members[at] ?? {};
    return [
      "--name",
      name,
      "--initial-cluster",
      this.#all(),
      "--initial-advertise-peer-urls",
      peer,
    ];
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((_, at) => this.kill(at)));
  }

  #all(): string {
    return this.#members.map((one) => `${one.name}=${one.peer}`).join(",");
  }

  #spawn(member: Member): void {
    const { name, url, peer } = member;
    const args = [
      `--name=${name}`,
      `--data-dir=${join(this.#directory, name)}`,
      "--log-level=error",
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=${this.#all()}`,
      ...this.#flags,
    ];
    member.child = bound(spawn(this.#program, args, { stdio: "ignore" }));
  }
}

/** It answers, and knows a leader. */
async function untilReady({ url }: Member): Promise<void> {
  const deadline = performance.now() + readyMsMax;
  while (performance.now() < deadline) {
    const client = new EtcdClient(url);
    const status = await client.status().catch(() => undefined);
    client.close();
    if (status !== undefined && status.leader !== 0n) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`etcd at ${url} is not ready after ${readyMsMax / 1000} s`);
}
