/** The replicas of one log, each registered by itself next to the log. Registrations stay until removed. */
import { createHash } from "node:crypto";
import type { LogCluster } from "#store/engines/etcd/cluster.ts";
import type { Member, Members } from "./cluster.ts";
import { etcdError } from "./rpc-error.ts";

/** Far above practical numbers; further replicas are not listed. */
const membersMax = 64;

export class ReplicaRegistry implements Members {
  readonly #cluster: LogCluster;
  readonly #prefix: string;

  /** `prefix`: that of the log. Members are stored outside of it, because an empty log must have no keys. */
  constructor(cluster: LogCluster, prefix: string) {
    this.#cluster = cluster;
    this.#prefix = `${prefix.slice(0, -1)}-replicas/`;
  }

  async add(url: string): Promise<void> {
    const value = new TextEncoder().encode(url);
    await this.#cluster.change({
      conditions: [],
      operations: [{ kind: "put", key: this.#key(memberIdOf(url)), value }],
    });
  }

  async list(): Promise<readonly Member[]> {
    const end = `${this.#prefix.slice(0, -1)}0`;
    const answer = await this.#cluster.read([{ start: this.#prefix, end, limit: membersMax }]);
    if (answer.kind !== "read") throw etcdError("timedOut");
    const [keys = []] = answer.lists;
    return keys.map(({ value }) => memberOf(new TextDecoder().decode(value)));
  }

  async remove(id: bigint): Promise<boolean> {
    if (!(await this.list()).some((member) => member.id === id)) return false;
    const start = this.#key(id);
    const operation = { kind: "delete", start, end: `${start}\0` } as const;
    const { kind } = await this.#cluster.change({ conditions: [], operations: [operation] });
    if (kind !== "changed") throw etcdError("timedOut");
    return true;
  }

  #key(id: bigint): string {
    return `${this.#prefix}${id.toString(16).padStart(16, "0")}`;
  }
}

function memberOf(url: string): Member {
  return { id: memberIdOf(url), name: url, clientUrls: [url] };
}

/** Equal for the same replica at every start. */
export function memberIdOf(url: string): bigint {
  return createHash("sha256").update(url).digest().readBigUInt64BE(0);
}
