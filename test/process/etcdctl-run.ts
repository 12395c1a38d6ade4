/** The real etcdctl as a process: one command to its end, or one that goes on until it is interrupted. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { given } from "#base/given.ts";
import type { EtcdRelease } from "#etcd/testing/servers.ts";
import { run } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";

export const etcdctl = findPeer("etcdctl");
export const etcd = findPeer("etcd");
export const noEtcdctl =
  etcdctl === undefined ? `${noPeer("etcdctl")} (Debian: etcd-client)` : false;
export const noEtcd = etcd === undefined ? `${noPeer("etcd")} (Debian: etcd-server)` : false;

const environment = { ...process.env, ETCDCTL_API: "3" };

/** 3.4, 3.6: commands and flags differ. Of a program that is absent 0.0, which no test asks for. */
function releaseOf(program: string | undefined, probe: string): EtcdRelease {
  if (program === undefined) return "0.0";
  const { stdout } = run(program, [probe], { env: environment });
  // It matches what the type says.
  return (/[vV]ersion: (\d+\.\d+)/.exec(stdout)?.[1] ?? "0.0") as EtcdRelease;
}

export const etcdRelease = releaseOf(etcd, "--version");
export const etcdctlRelease = releaseOf(etcdctl, "version");

export interface Step {
  readonly args: readonly string[];
  readonly input?: string;
}

export function words(line: string, input?: string): Step {
  const args = line.split(" ").map((word) => (word === '""' ? "" : word));
  return input === undefined ? { args } : { args, input };
}

/** Exit code, what it printed, and its last word on the error stream; ids, times and addresses by name. */
export function etcdctlAt(url: string, { args, input }: Step): string {
  const { code, stdout, stderr } = run(etcdctl ?? "", ["--endpoints", url, ...args], {
    env: environment,
    ...given({ input }),
  });
  // The client's own log lines carry addresses and times; what it tells its user is the last line.
  const lines = stderr.trim().split("\n");
  const told = lines.findLast((line) => !line.startsWith('{"level"')) ?? "";
  return `${code} ${normal(stdout, url)} ${normal(told, url)}`.trim();
}

/** The same as it came, to look for an id in it. */
export function etcdctlPlain(url: string, line: string): string {
  return run(etcdctl ?? "", ["--endpoints", url, ...words(line).args], { env: environment }).stdout;
}

export function normal(text: string, url: string): string {
  return (
    text
      .replaceAll(url, "URL")
      .replaceAll(url.replace("http://", ""), "URL")
      .replace(/\d+(\.\d+)?(µs|ms|s)\b/g, "TIME")
      // 63 bits without leading zeros: one in 128 has two digits fewer than 16.
      .replace(/\b[0-9a-f]{12,16}\b/g, "ID")
      // etcd's come in no order.
      .replace(/(?<=attached keys\(\[)[^\]]*/, (keys) => keys.split(" ").toSorted().join(" "))
      .replace(/"(ClusterID|MemberID|RaftTerm)" : \d+/g, '"$1" : N')
      .replace(/"(cluster_id|member_id|raft_term)":\d+/g, '"$1":N')
  );
}

/** Nothing that a test waits for takes longer, on a machine with other work to do. */
export const waitMsMax = 60_000;

/** One that goes on: a watch, a lock held, a mirror. */
export class Going {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #url: string;
  readonly #exited: Promise<unknown>;
  #printed = "";
  #told = "";

  constructor(url: string, line: string) {
    const args = ["--endpoints", url, ...words(line).args];
    this.#child = spawn(etcdctl ?? "", args, { env: environment });
    this.#url = url;
    this.#exited = once(this.#child, "exit");
    this.#child.stdout.on("data", (chunk: Buffer) => (this.#printed += chunk.toString()));
    this.#child.stderr.on("data", (chunk: Buffer) => (this.#told += chunk.toString()));
  }

  say(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  /** All lines printed so far, once there are `count` of them. Fails when it ends before. */
  async lines(count: number): Promise<string> {
    const late = AbortSignal.timeout(waitMsMax);
    while (this.#printed.split("\n").length <= count) {
      const more = once(this.#child.stdout, "data", { signal: late }).then(
        () => true,
        () => false,
      );
      if (await Promise.race([more, this.#exited.then(() => false)])) continue;
      throw new Error(`etcdctl never printed line ${count}:\n${this.#printed}${this.#told}`);
    }
    return normal(this.#printed.trimEnd(), this.#url);
  }

  /** Everything it ever prints, when it ends by itself; one that does not is killed, and fails. */
  async ended(): Promise<string> {
    const late = setTimeout(() => this.#child.kill("SIGKILL"), waitMsMax);
    await this.#exited;
    clearTimeout(late);
    return `${this.#child.exitCode} ${normal(this.#printed.trimEnd(), this.#url)}`;
  }

  /** As ^C does. */
  async interrupt(): Promise<string> {
    this.#child.kill("SIGINT");
    return this.ended();
  }
}
