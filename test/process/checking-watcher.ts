/**
 * A watcher that keeps a copy from the bytes it is sent, adds up the copy's checksum as the relay's README
 * says, compares it with every bookmark's, and goes on at the next relay when its own breaks.
 */
import { hash } from "node:crypto";
import { type Credentials, KubeHttp, type Json } from "./kube-http.ts";

interface Held {
  readonly revision: string;
  readonly digest: bigint;
}

export interface WatcherCounts {
  events: number;
  /** Bookmarks whose sum was compared, and those that differed. */
  sums: number;
  mismatched: number;
  /** An older revision after a newer one. */
  disordered: number;
  /** Starts with the whole state, and at a position. */
  snapshots: number;
  resumes: number;
  refused: number;
}

interface Frame {
  readonly type: string;
  readonly key: string;
  readonly revision: string;
  readonly digest: bigint;
  /** When its writer says it wrote it, by the wall clock; undefined when it does not say. */
  readonly writtenMs: number | undefined;
}

export interface WatcherOptions {
  readonly path: string;
  readonly first: number;
  readonly timeoutSeconds: number;
  /** Every other connection asks for the latest state only, the first one too. */
  readonly latestInTurn?: boolean;
  /** Told how old each event is that says when it was written (`data.at`), and by which relay it came. */
  readonly onAge?: (relay: number, ageMs: number) => void;
}

const reconnectMs = 50;
/** Watchers of one process are sent the same bytes: each frame is parsed and hashed once. */
const framesMax = 10_000;
const frames = new Map<string, Frame>();
const frame = /^\{"type":"(\w+)","object":/;

export class CheckingWatcher {
  readonly copy = new Map<string, Held>();
  readonly counts: WatcherCounts = {
    events: 0,
    sums: 0,
    mismatched: 0,
    disordered: 0,
    snapshots: 0,
    resumes: 0,
    refused: 0,
  };
  /** When it last was sent something, and by which relay. */
  heardMs = 0;
  relay: number;
  readonly #relays: readonly Credentials[];
  readonly #path: string;
  readonly #timeoutSeconds: number;
  readonly #latestInTurn: boolean;
  readonly #onAge: WatcherOptions["onAge"];
  #position = "";
  #sum = 0n;
  #synced = false;
  #stopped = false;
  #client: KubeHttp | undefined;
  readonly #running: Promise<void>;

  constructor(relays: readonly Credentials[], options: WatcherOptions) {
    this.#relays = relays;
    this.#path = options.path;
    this.#timeoutSeconds = options.timeoutSeconds;
    this.#latestInTurn = options.latestInTurn ?? false;
    this.#onAge = options.onAge;
    this.relay = options.first % relays.length;
    this.#running = this.#run();
  }

  get synced(): boolean {
    return this.#synced;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#client?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const credentials = this.#relays[this.relay];
      if (credentials === undefined) return;
      const heard = this.counts.events;
      this.#client = new KubeHttp(credentials);
      await this.#client.lines(this.#target(), (line) => this.#take(line));
      this.#client.close();
      if (this.#stopped) return;
      if (heard === this.counts.events) this.relay = (this.relay + 1) % this.#relays.length;
      await new Promise((resolve) => setTimeout(resolve, reconnectMs * (0.5 + Math.random())));
    }
  }

  #target(): string {
    const { snapshots, resumes } = this.counts;
    const latest = this.#latestInTurn && (snapshots + resumes) % 2 === 0 ? "&latestOnly=true" : "";
    const common = `watch=true&allowWatchBookmarks=true&viewChecksums=true&timeoutSeconds=${this.#timeoutSeconds}${latest}`;
    if (this.#synced) {
      this.counts.resumes++;
      return `${this.#path}?${common}&resourceVersion=${this.#position}`;
    }
    this.counts.snapshots++;
    this.copy.clear();
    this.#sum = 0n;
    this.#position = "";
    return `${this.#path}?${common}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
  }

  #take(line: string): void {
    this.heardMs = performance.now();
    const known = frames.get(line);
    if (known !== undefined) return this.#takeEvent(known);
    const type = frame.exec(line)?.[1];
    if (type === undefined || type === "ERROR") return this.#failed();
    const text = line.slice(line.indexOf('"object":') + '"object":'.length, -1);
    const { metadata, data }: Json = JSON.parse(text);
    const revision = String(metadata?.["resourceVersion"]);
    if (type === "BOOKMARK") return this.#takeBookmark(metadata, revision);
    const digest = BigInt(`0x${hash("sha256", text, "hex").slice(0, 32)}`);
    const made = {
      type,
      key: `${metadata?.["namespace"]}/${metadata?.["name"]}`,
      revision,
      digest,
      writtenMs: data?.["at"] === undefined ? undefined : Number(data["at"]),
    };
    if (frames.size >= framesMax) frames.clear();
    frames.set(line, made);
    this.#takeEvent(made);
  }

  #takeEvent(told: Frame): void {
    const { revision } = told;
    this.counts.events++;
    if (this.#synced && Number(revision) < Number(this.#position)) this.counts.disordered++;
    if (this.#synced) this.#position = revision;
    if (this.#synced && told.writtenMs !== undefined && told.type !== "DELETED") {
      this.#onAge?.(this.relay, Date.now() - told.writtenMs);
    }
    this.#set(told);
  }

  /** A Status: told 410, or turned away for now. */
  #failed(): void {
    this.counts.refused++;
    this.#synced = false;
  }

  #set({ type, key, revision, digest }: Frame): void {
    const before = this.copy.get(key)?.digest ?? 0n;
    if (type === "DELETED") this.copy.delete(key);
    else this.copy.set(key, { revision, digest });
    this.#sum = BigInt.asUintN(128, this.#sum - before + (type === "DELETED" ? 0n : digest));
  }

  #takeBookmark(metadata: Json | undefined, revision: string): void {
    this.counts.events++;
    this.#position = revision;
    const annotations = metadata?.["annotations"];
    if (annotations?.["k8s.io/initial-events-end"] !== undefined) this.#synced = true;
    const checksum = annotations?.["pilothouse.dev/view-checksum"];
    if (checksum === undefined) return;
    this.counts.sums++;
    const count = Number(annotations?.["pilothouse.dev/view-count"]);
    const own = this.#sum.toString(16).padStart(32, "0");
    if (String(checksum) !== own || count !== this.copy.size) this.counts.mismatched++;
  }
}

/** All counts of all watchers, added up. */
export function totals(watchers: readonly CheckingWatcher[]): WatcherCounts {
  const sum = (pick: (counts: WatcherCounts) => number): number =>
    watchers.reduce((total, { counts }) => total + pick(counts), 0);
  return {
    events: sum((c) => c.events),
    sums: sum((c) => c.sums),
    mismatched: sum((c) => c.mismatched),
    disordered: sum((c) => c.disordered),
    snapshots: sum((c) => c.snapshots),
    resumes: sum((c) => c.resumes),
    refused: sum((c) => c.refused),
  };
}
