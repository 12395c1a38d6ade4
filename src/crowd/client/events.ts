/**
 * Event recorder: core/v1 Events about objects, best effort.
 *
 * Holds  a repeated event raises the count of the stored one instead of making a second object; more than
 *        `similarMax` similar events with different messages in ten minutes become one "combined" event;
 *        one object's events are limited to a burst of 25 and then one per five minutes.
 * Bounds `entriesMax` remembered events (oldest forgotten; all of them ten minutes after their last),
 *        `waitingMax` unsent (newest dropped and counted), `inFlightMax` requests. `event` never waits and never
 *        throws.
 * After  client-go tools/record events_cache.go.
 */
import { given } from "#base/given.ts";
import type { Event } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { Client } from "./client.ts";
import { isAlreadyExists, isNotFound } from "./api-errors.ts";
import { retryTransient } from "./retry.ts";

export interface EventRecorder {
  /** `object` must have apiVersion, kind and metadata. */
  event(object: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void;
  /** Resolves when every accepted event was sent or abandoned. */
  flushed(): Promise<void>;
  /** Drops queued events and refuses new ones; resolves when running requests have ended. */
  close(): Promise<void>;
  /** Number of events refused by a limit since the start. */
  readonly dropped: number;
}

interface EventRecorderDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

interface EventRecorderOptions {
  /** The reporting component: `default-scheduler`, `replicaset-controller`, `kubelet`. */
  readonly component: string;
  /** Name of the node, for events of a kubelet. */
  readonly host?: string;
  /** Disabled for recorders with many short-lived objects: hollow kubelets. */
  readonly limitPerObject?: boolean;
}

export const eventsRef = { group: "", version: "v1", resource: "events" } as const;

const entriesMax = 4_096;
const waitingMax = 8_192;
const inFlightMax = 16;
const similarMax = 10;
const similarWindowMs = 600_000;
/** Interval for dropping old entries, because a process has dozens of recorders. */
const forgetEveryMs = 60_000;
const burst = 25;
const refillMs = 300_000;
const messageCharsMax = 1_024;
const renamesMax = 3;
const sendTries = { triesMax: 4, firstMs: 250, mostMs: 10_000 };

/** An Event object that is stored or will be. */
interface Entry {
  readonly key: string;
  name: string;
  readonly object: Subject;
  readonly type: string;
  readonly reason: string;
  message: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** Whether the server was asked for the event by name. */
  asked: boolean;
  stored: boolean;
  waiting: boolean;
  sending: boolean;
}

/** The involved object's reference. The object itself is not kept, because entries live for hours. */
interface Subject {
  readonly apiVersion: string | undefined;
  readonly kind: string | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

interface Similar {
  /** At most `similarMax`. An array, because a set takes five times the memory of a short one. */
  readonly messages: string[];
  lastMs: number;
}

interface Bucket {
  tokens: number;
  filledMs: number;
}

export function createEventRecorder(
  deps: EventRecorderDeps,
  options: EventRecorderOptions,
): EventRecorder {
  return new Recorder(deps, options);
}

class Recorder implements EventRecorder {
  readonly #deps: EventRecorderDeps;
  readonly #options: EventRecorderOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #similar = new Map<string, Similar>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #waiting = new Set<Entry>();
  readonly #closing = new AbortController();
  #forgetting: Timer | undefined;
  #idle: (() => void)[] = [];
  #inFlight = 0;
  #names = 0;
  dropped = 0;

  constructor(deps: EventRecorderDeps, options: EventRecorderOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  event(object: KubeObject, type: "Normal" | "Warning", reason: string, text: string): void {
    const closed = this.#closing.signal.aborted;
    if (closed || this.#waiting.size >= waitingMax || !this.#mayRecord(object)) {
      this.dropped++;
      return;
    }
    const nowMs = this.#deps.clock.nowMs();
    const subject = [subjectKey(object), type, reason].join("\n");
    const combined = this.#isSimilar(subject, text, nowMs);
    const short = text.length > messageCharsMax ? `${text.slice(0, messageCharsMax - 3)}...` : text;
    const message = combined ? `(combined from similar events): ${short}` : short;
    const key = combined ? subject : `${subject}\n${short}`;
    const entry = this.#entries.get(key) ?? this.#newEntry(key, object, type, reason, nowMs);
    // Re-inserted, so that the map is in order of use and its first entry is the oldest.
    this.#entries.delete(key);
    remember(this.#entries, key, entry);
    entry.message = message;
    entry.count++;
    entry.lastMs = nowMs;
    entry.waiting = true;
    if (!entry.sending) this.#waiting.add(entry);
    this.#forgetLater();
    this.#send();
  }

  flushed(): Promise<void> {
    if (this.#inFlight === 0 && this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#forgetting?.cancel();
    this.dropped += this.#waiting.size;
    this.#waiting.clear();
    return this.flushed();
  }

  #newEntry(key: string, object: KubeObject, type: string, reason: string, nowMs: number): Entry {
    const times = { firstMs: nowMs, lastMs: nowMs };
    const state = {
      count: 0,
      asked: false,
      stored: false,
      waiting: false,
      sending: false,
      message: "",
    };
    const subject = subjectOf(object);
    const name = this.#name(subject, nowMs);
    return { key, name, object: subject, type, reason, ...times, ...state };
  }

  /** Such as `pod.17f2c3d4e5f60718`: upstream uses nanoseconds; here milliseconds and a counter. */
  #name(object: Subject, nowMs: number): string {
    const nanos = BigInt(nowMs) * 1_000_000n + BigInt(this.#names++ % 1_000_000);
    // At most 253 characters, including a dot and 16 digits.
    return `${(object.name ?? "").slice(0, 236)}.${nanos.toString(16)}`;
  }

  #isSimilar(subject: string, message: string, nowMs: number): boolean {
    let similar = this.#similar.get(subject);
    if (similar === undefined || nowMs - similar.lastMs > similarWindowMs) {
      similar = { messages: [], lastMs: nowMs };
    }
    const { messages } = similar;
    similar.lastMs = nowMs;
    if (messages.length < similarMax && !messages.includes(message)) messages.push(message);
    this.#similar.delete(subject);
    remember(this.#similar, subject, similar);
    return messages.length >= similarMax && !messages.includes(message);
  }

  #mayRecord(object: KubeObject): boolean {
    if (this.#options.limitPerObject === false) return true;
    const key = subjectKey(object);
    const nowMs = this.#deps.clock.monotonicMs();
    const bucket = this.#buckets.get(key) ?? { tokens: burst, filledMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.filledMs) / refillMs);
    bucket.filledMs = nowMs;
    this.#buckets.delete(key);
    remember(this.#buckets, key, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }

  #forgetLater(): void {
    this.#forgetting ??= this.#deps.clock.after("client.events", forgetEveryMs, () => {
      this.#forgetting = undefined;
      const { clock } = this.#deps;
      forgetBefore(this.#entries, clock.nowMs() - similarWindowMs);
      forgetBefore(this.#similar, clock.nowMs() - similarWindowMs);
      this.#forgetFull(clock.monotonicMs());
      const left = this.#entries.size + this.#similar.size + this.#buckets.size;
      if (left > 0 && !this.#closing.signal.aborted) this.#forgetLater();
    });
  }

  /** Drops full buckets, which do not differ from new ones. */
  #forgetFull(nowMs: number): void {
    for (const [key, { tokens, filledMs }] of this.#buckets) {
      if (tokens + (nowMs - filledMs) / refillMs >= burst) this.#buckets.delete(key);
    }
  }

  #send(): void {
    for (const entry of this.#waiting) {
      if (this.#inFlight >= inFlightMax) return;
      this.#waiting.delete(entry);
      this.#inFlight++;
      entry.sending = true;
      entry.waiting = false;
      void this.#sendOne(entry).finally(() => this.#sent(entry));
    }
  }

  #sent(entry: Entry): void {
    this.#inFlight--;
    entry.sending = false;
    if (entry.waiting && !this.#closing.signal.aborted) this.#waiting.add(entry);
    this.#send();
    if (this.#inFlight > 0 || this.#waiting.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #sendOne(entry: Entry): Promise<void> {
    try {
      await retryTransient(this.#deps, sendTries, this.#closing.signal, () => this.#write(entry));
    } catch (error) {
      this.dropped++;
      const message = error instanceof Error ? error.message : String(error);
      this.#deps.log.debug("event was not stored", { reason: entry.reason, error: message });
    }
  }

  async #write(entry: Entry): Promise<void> {
    const { client } = this.#deps;
    const namespace = eventNamespace(entry.object);
    if (entry.stored) {
      const lastTimestamp = formatTime(entry.lastMs);
      const patch = { count: entry.count, lastTimestamp, message: entry.message };
      try {
        await client.patch(eventsRef, namespace, entry.name, "merge", patch);
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
        this.#rename(entry); // it lived out its time: a new one
      }
    }
    await this.#create(entry, namespace);
    entry.stored = true;
  }

  /**
   * Creates the event. If the name is taken, another recorder used it in the same millisecond, or it is this recorder's
   * own event, whose answer was lost.
   * @throws ApiError
   */
  async #create(entry: Entry, namespace: string): Promise<void> {
    for (let renamed = 0; ; renamed++) {
      const wasAsked = entry.asked;
      entry.asked = true;
      try {
        await this.#deps.client.create<Event>(eventsRef, namespace, this.#object(entry, namespace));
        return;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        if (wasAsked) return;
        if (renamed >= renamesMax) throw error;
        this.#rename(entry);
      }
    }
  }

  #rename(entry: Entry): void {
    entry.name = this.#name(entry.object, this.#deps.clock.nowMs());
    entry.asked = false;
  }

  #object(entry: Entry, namespace: string): Event {
    const { component, host } = this.#options;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: entry.name, namespace },
      involvedObject: dropUndefined(entry.object),
      type: entry.type,
      reason: entry.reason,
      message: entry.message,
      count: entry.count,
      firstTimestamp: formatTime(entry.firstMs),
      lastTimestamp: formatTime(entry.lastMs),
      source: { component, ...given({ host }) },
      reportingComponent: component,
      reportingInstance: host ?? "",
    };
  }
}

function subjectOf({ apiVersion, kind, metadata = {} }: KubeObject): Subject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, name, namespace, uid, resourceVersion };
}

function subjectKey(object: KubeObject): string {
  const { namespace = "", name = "", uid = "" } = object.metadata ?? {};
  return `${object.kind ?? ""}\n${namespace}\n${name}\n${uid}`;
}

/** Events about cluster-scoped objects are in `default`. */
function eventNamespace(object: Subject): string {
  const namespace = object.namespace ?? "";
  return namespace === "" ? "default" : namespace;
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.set(key, value);
  if (map.size <= entriesMax) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}

/** `map` is in order of use. */
function forgetBefore(map: Map<string, { readonly lastMs: number }>, sinceMs: number): void {
  for (const [key, { lastMs }] of map) {
    if (lastMs > sinceMs) return;
    map.delete(key);
  }
}

function dropUndefined(fields: { readonly [Field in keyof Subject]: string | undefined }): Record<
  string,
  string
> {
  const given = Object.entries(fields).filter((f): f is [string, string] => f[1] !== undefined);
  return Object.fromEntries(given);
}
