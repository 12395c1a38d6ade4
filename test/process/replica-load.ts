/**
 * Writers and watchers over the replicas of one store, and their books: the acknowledged writes, the events of each
 * watch. A client whose replica is gone goes on at the next one.
 */
import { EtcdClient } from "#etcd/client.ts";
import { EventType } from "#wire/etcd-messages.ts";

const retryMs = 20;
const keysEach = 20;

export interface Write {
  readonly key: string;
  readonly value: string;
  /** 0: its answer never came, so it may be there, once, or not. */
  revision: number;
}

/** Each value is written once: a write whose answer is lost is not repeated. */
export class Writer {
  readonly writes: Write[] = [];
  /** The longest time that one write took, or that passed without any. */
  longestMs = 0;
  readonly #name: string;
  readonly #urls: readonly string[];
  #at: number;

  constructor(name: string, urls: readonly string[], at: number) {
    this.#name = name;
    this.#urls = urls;
    this.#at = at;
  }

  async run(stopped: AbortSignal): Promise<void> {
    let client: EtcdClient | undefined;
    let lastMs = performance.now();
    for (let n = 0; !stopped.aborted; n++) {
      client ??= new EtcdClient(this.#urls[this.#at++ % this.#urls.length] ?? "");
      const write = {
        key: `${this.#name}/${n % keysEach}`,
        value: `${this.#name} ${n}`,
        revision: 0,
      };
      this.writes.push(write);
      try {
        const value = new TextEncoder().encode(write.value);
        const { header } = await client.put({ key: write.key, value });
        write.revision = header?.revision ?? 0;
        const nowMs = performance.now();
        this.longestMs = Math.max(this.longestMs, nowMs - lastMs);
        lastMs = nowMs;
      } catch {
        client.close();
        client = undefined;
        await pause(retryMs);
      }
    }
    client?.close();
  }
}

/** Every change, resumed after the last whole revision; never read by a list. */
export class Watcher {
  /** `key value` of each event, by revision, in the order told. */
  readonly told: { readonly revision: number; readonly text: string }[] = [];
  readonly faults: string[] = [];
  resumed = -1;
  readonly #urls: readonly string[];
  #at: number;

  readonly #from: number;

  /** `from`: the revision before the first one wanted. */
  constructor(urls: readonly string[], at: number, from: number) {
    this.#urls = urls;
    this.#at = at;
    this.#from = from;
  }

  get last(): number {
    return this.told.at(-1)?.revision ?? this.#from;
  }

  async run(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      this.resumed++;
      const client = new EtcdClient(this.#urls[this.#at++ % this.#urls.length] ?? "");
      const close = (): void => client.close();
      stopped.addEventListener("abort", close);
      await this.#watch(client).catch(() => undefined);
      stopped.removeEventListener("abort", close);
      close();
      if (!stopped.aborted) await pause(retryMs);
    }
  }

  async #watch(client: EtcdClient): Promise<void> {
    const stream = client.watch();
    stream.send({ create: { key: "\0", rangeEnd: "\0", startRevision: this.last + 1 } });
    for (let answer = await stream.next(); answer !== undefined; answer = await stream.next()) {
      if (answer.canceled) return void this.faults.push(`canceled: ${answer.cancelReason}`);
      for (const { type, kv } of answer.events) {
        const revision = kv?.modRevision ?? 0;
        if (revision !== this.last + 1) this.faults.push(`${revision} came after ${this.last}`);
        const value = type === EventType.put ? Buffer.from(kv?.value ?? []).toString() : "deleted";
        this.told.push({ revision, text: `${kv?.key} ${value}` });
      }
    }
  }
}

/** What does not add up. */
export function compareBooks(
  writes: readonly Write[],
  watchers: readonly Watcher[],
): readonly string[] {
  const faults = watchers.flatMap(({ faults: own }, at) => own.map((one) => `watch ${at}: ${one}`));
  const [first] = watchers;
  const history = new Map((first?.told ?? []).map(({ revision, text }) => [revision, text]));
  for (const [at, { told }] of watchers.entries()) {
    const differs = told.find(({ revision, text }) => history.get(revision) !== text);
    if (differs !== undefined) faults.push(`watch ${at} differs at ${differs.revision}`);
  }
  return [...faults, ...compareWrites(writes, history)];
}

function compareWrites(
  writes: readonly Write[],
  history: ReadonlyMap<number, string>,
): readonly string[] {
  const faults: string[] = [];
  const written = new Set(writes.map(({ key, value }) => `${key} ${value}`));
  const seen = new Set<string>();
  for (const text of history.values()) {
    if (!written.has(text)) faults.push(`phantom: ${text}`);
    if (seen.has(text)) faults.push(`twice: ${text}`);
    seen.add(text);
  }
  for (const { key, value, revision } of writes) {
    if (revision > 0 && history.get(revision) !== `${key} ${value}`) {
      faults.push(`lost: ${key} ${value}, acknowledged at ${revision}`);
    }
  }
  return faults;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
