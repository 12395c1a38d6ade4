/**
 * The crash experiment: clients write, the server is killed at random instants, and at the end the
 * books must balance. Pure bookkeeping here; `kill.test.ts` does the killing.
 *
 * Each client owns one ConfigMap whose `data.n` it counts up. For each acknowledged write the ledger
 * keeps (name, n, resourceVersion); for each submitted write the highest n.
 */
import type { Json, KubeHttp } from "./kube-http.ts";

export interface Seen {
  readonly type: string;
  readonly name: string;
  readonly n: number;
  readonly resourceVersion: number;
}

export class Ledger {
  readonly #acknowledged = new Map<string, Map<number, number>>();
  readonly #submitted = new Map<string, number>();
  readonly #seen: Seen[] = [];
  readonly #faults: string[] = [];

  submitted(name: string, n: number): void {
    this.#submitted.set(name, n);
  }

  acknowledged(name: string, n: number, resourceVersion: number): void {
    const writes = this.#acknowledged.get(name) ?? new Map<number, number>();
    writes.set(n, resourceVersion);
    this.#acknowledged.set(name, writes);
  }

  seen(event: Seen): void {
    const last = this.#seen.at(-1)?.resourceVersion ?? 0;
    if (event.resourceVersion <= last) {
      this.#faults.push(`watch went back: ${event.resourceVersion} after ${last}`);
    }
    this.#seen.push(event);
  }

  fault(text: string): void {
    this.#faults.push(text);
  }

  get acknowledgedCount(): number {
    return [...this.#acknowledged.values()].reduce((sum, writes) => sum + writes.size, 0);
  }

  get seenCount(): number {
    return this.#seen.length;
  }

  get lastSeen(): number {
    return this.#seen.at(-1)?.resourceVersion ?? 0;
  }

  /** Compares a list taken now with the books. */
  checkState(items: readonly Json[]): void {
    const state = new Map(
      items.map((item) => [String(item["metadata"]?.["name"]), Number(item["data"]?.["n"])]),
    );
    for (const [name, writes] of this.#acknowledged) {
      const n = state.get(name) ?? -1;
      const acknowledged = Math.max(...writes.keys());
      if (n < acknowledged)
        this.#faults.push(`lost: ${name} is at ${n}, ${acknowledged} was acknowledged`);
    }
    for (const [name, n] of state) {
      const submitted = this.#submitted.get(name) ?? -1;
      if (n > submitted)
        this.#faults.push(`phantom: ${name} is at ${n}, only ${submitted} was submitted`);
    }
  }

  /** Every acknowledged write was seen exactly once by the watcher, at its revision. */
  checkWatch(): void {
    const bySeen = new Map<string, Seen[]>();
    for (const event of this.#seen) {
      const key = `${event.name}/${event.n}`;
      bySeen.set(key, [...(bySeen.get(key) ?? []), event]);
    }
    for (const [key, events] of bySeen) {
      if (events.length > 1) this.#faults.push(`duplicate: ${key} seen ${events.length} times`);
    }
    for (const [name, writes] of this.#acknowledged) {
      for (const [n, resourceVersion] of writes) {
        const event = bySeen.get(`${name}/${n}`)?.[0];
        if (event === undefined)
          this.#faults.push(`gap: ${name}/${n}@${resourceVersion} never seen`);
        else if (event.resourceVersion !== resourceVersion) {
          this.#faults.push(
            `revision: ${name}/${n} acknowledged @${resourceVersion}, seen @${event.resourceVersion}`,
          );
        }
      }
    }
  }

  get faults(): readonly string[] {
    return this.#faults;
  }
}

const path = "/api/v1/namespaces/default/configmaps";

/** Counts one ConfigMap up until the connection breaks. `from` is where the last run left off. */
export async function count(
  http: KubeHttp,
  name: string,
  from: number,
  ledger: Ledger,
): Promise<number> {
  let n = from;
  try {
    for (;;) {
      n++;
      ledger.submitted(name, n);
      const object = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, labels: { app: "kill" } },
        data: { n: String(n), pad: "x".repeat(500) },
      };
      const answer = await write(http, name, object);
      if (answer.status >= 300) {
        ledger.fault(`write ${name}/${n}: ${answer.status} ${JSON.stringify(answer.body)}`);
        return n;
      }
      ledger.acknowledged(name, n, Number(answer.body["metadata"]?.["resourceVersion"]));
    }
  } catch {
    return n;
  }
}

async function write(
  http: KubeHttp,
  name: string,
  object: unknown,
): ReturnType<KubeHttp["request"]> {
  const answer = await http.request("PUT", `${path}/${name}`, object);
  return answer.status === 404 ? http.request("POST", path, object) : answer;
}

/** One watch from where the ledger stands; resolves when it is cut. */
export async function follow(http: KubeHttp, ledger: Ledger): Promise<void> {
  const from = ledger.lastSeen === 0 ? "1" : String(ledger.lastSeen);
  const query = `watch=1&labelSelector=app%3Dkill&resourceVersion=${from}`;
  await http.watch(`${path}?${query}`, (event) => {
    if (event.type === "ERROR") return ledger.fault(`watch: ${JSON.stringify(event.object)}`);
    if (event.type === "BOOKMARK") return;
    ledger.seen({
      type: event.type,
      name: String(event.object["metadata"]?.["name"]),
      n: Number(event.object["data"]?.["n"]),
      resourceVersion: Number(event.object["metadata"]?.["resourceVersion"]),
    });
  });
}

export async function listAll(http: KubeHttp): Promise<readonly Json[]> {
  const answer = await http.request("GET", `${path}?labelSelector=app%3Dkill`);
  return (answer.body["items"] ?? []) as readonly Json[];
}
