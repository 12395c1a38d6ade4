/**
 * An API server of one resource for tests, at the level of bytes, whose streams misbehave on command:
 * cut, repeat, delay, reorder; whose history is compacted; whose lists fail.
 *
 * Holds  all of its own history, so a test can say what was true at any revision.
 */
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { ByteTransportError } from "#platform/byte-transport.ts";
import { FakeBodyStream, jsonAnswer } from "#platform/testing/http-server.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";

export const podKind: MirroredKind = {
  group: "",
  version: "v1",
  resource: "pods",
  kind: "Pod",
  namespaced: true,
  apiVersion: "v1",
};

export interface FakeEvent {
  readonly revision: number;
  readonly key: string;
  /** Undefined: the object was deleted. */
  readonly label: string | undefined;
  readonly uid: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
}

interface FakeObject {
  readonly label: string;
  readonly uid: string;
  readonly revision: number;
}

interface Stream {
  /** Revision up to which events have been put into `queue`. */
  after: number;
  queue: Uint8Array[];
  readonly body: FakeBodyStream;
}

const encoder = new TextEncoder();

export class FakeUpstream implements ByteTransport {
  readonly events: FakeEvent[] = [];
  revision = 1;
  compacted = 0;
  lists = 0;
  watches = 0;
  /** Further requests fail as if the port were closed. */
  down = false;
  readonly #state = new Map<string, FakeObject>();
  readonly #streams = new Set<Stream>();
  #uids = 0;

  /** Writes all changes in one revision; an undefined label deletes the object. */
  write(...changes: readonly (readonly [key: string, label: string | undefined])[]): void {
    this.revision++;
    for (const [key, label] of changes) {
      const known = this.#state.get(key);
      if (label === undefined && known === undefined) continue;
      const uid = known?.uid ?? `u${++this.#uids}`;
      const { revision } = this;
      const type = label === undefined ? "DELETED" : known === undefined ? "ADDED" : "MODIFIED";
      this.events.push({ revision, key, label: label ?? known?.label, uid, type });
      if (label === undefined) this.#state.delete(key);
      else this.#state.set(key, { label, uid, revision });
    }
  }

  /** Uses up a revision, as a write to another resource does. */
  skip(): void {
    this.revision++;
  }

  compact(): void {
    this.compacted = this.revision;
  }

  state(): ReadonlyMap<string, FakeObject> {
    return this.#state;
  }

  stateAt(revision: number): Map<string, FakeObject> {
    const state = new Map<string, FakeObject>();
    for (const event of this.events) {
      if (event.revision > revision) break;
      const { key, label = "", uid } = event;
      if (event.type === "DELETED") state.delete(key);
      else state.set(key, { label, uid, revision: event.revision });
    }
    return state;
  }

  /** Puts new events into the queues of the streams without sending them. */
  enqueue(): void {
    for (const stream of this.#streams) {
      for (const event of this.events) {
        if (event.revision <= stream.after) continue;
        stream.queue.push(eventFrame(event));
      }
      stream.after = this.revision;
    }
  }

  send(request: ByteRequest): Promise<ByteResponse> {
    if (this.down) return Promise.reject(new ByteTransportError("refused", "ECONNREFUSED"));
    const query = new URLSearchParams(request.target.split("?")[1] ?? "");
    if (query.get("watch") === "true") {
      return Promise.resolve(this.#watch(Number(query.get("resourceVersion"))));
    }
    const limit = Number(query.get("limit") ?? 0);
    if (limit !== 1) this.lists++;
    return Promise.resolve(jsonAnswer(200, this.#list(query.get("continue") ?? "", limit)));
  }

  /** Sends `count` queued frames of every stream as one chunk, or in two chunks cut within a frame when `torn`. */
  deliver(count: number, torn = false): void {
    for (const stream of this.#streams) {
      const chunk = Buffer.concat(stream.queue.splice(0, count));
      if (chunk.length === 0) continue;
      const middle = torn ? chunk.length >>> 1 : chunk.length;
      stream.body.send(chunk.subarray(0, middle));
      if (middle < chunk.length) stream.body.send(chunk.subarray(middle));
      if (stream.body.over) this.#streams.delete(stream);
    }
  }

  bookmark(): void {
    this.enqueue();
    for (const stream of this.#streams) stream.queue.push(bookmarkFrame(this.revision));
  }

  /** Appends the last `count` events of each stream to its queue once more. */
  repeat(count: number): void {
    for (const stream of this.#streams) {
      const given = this.events.filter(({ revision }) => revision <= stream.after);
      stream.queue.push(...given.slice(-count).map(eventFrame));
    }
  }

  /** Swaps the next two frames of each queue. */
  swap(): void {
    for (const { queue } of this.#streams) queue.splice(0, 2, ...queue.slice(0, 2).reverse());
  }

  cut(clean: boolean): void {
    for (const stream of this.#streams) {
      this.#streams.delete(stream);
      if (clean) stream.body.end();
      else stream.body.cut();
    }
  }

  close(): void {
    this.cut(true);
  }

  #watch(after: number): ByteResponse {
    this.watches++;
    const stream: Stream = { after, queue: [], body: new FakeBodyStream() };
    if (after < this.compacted) stream.queue.push(goneFrame());
    this.#streams.add(stream);
    return stream.body.response;
  }

  /** Returns a page of a snapshot; the items lack apiVersion and kind, as in lists of stock servers. */
  #list(token: string, limit: number): string {
    const [at = "", from = ""] = token === "" ? [] : token.split(":");
    const revision = at === "" ? this.revision : Number(at);
    const all = [...this.stateAt(revision)].sort(([a], [b]) => (a < b ? -1 : 1));
    const start = Number(from);
    const page = all.slice(start, limit > 0 ? start + limit : undefined);
    const next = start + page.length;
    const more = next < all.length ? `,"continue":"${revision}:${next}"` : "";
    const items = page.map(([key, object]) => objectJson(key, object, ""));
    return `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${revision}"${more}},"items":[${items.join(",")}]}\n`;
  }
}

function objectJson(key: string, object: FakeObject, head: string): string {
  const [namespace, name] = key.split("/");
  const { label, uid, revision } = object;
  // Contains numbers that no double can hold, and escapes: the relay must pass the bytes on unchanged.
  return `{${head}"metadata":{"name":"${name}","namespace":"${namespace}","uid":"${uid}","resourceVersion":"${revision}","labels":{"v":"${label}"}},"spec":{"nodeName":"n${label}","big":9007199254740993,"text":"\\"}{]["},"status":{}}`;
}

function eventFrame(event: FakeEvent): Uint8Array {
  const { key, label = "", uid, revision } = event;
  const json = objectJson(key, { label, uid, revision }, '"kind":"Pod","apiVersion":"v1",');
  return encoder.encode(`{"type":"${event.type}","object":${json}}\n`);
}

function bookmarkFrame(revision: number): Uint8Array {
  return encoder.encode(
    `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"${revision}"}}}\n`,
  );
}

function goneFrame(): Uint8Array {
  return encoder.encode(
    '{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}\n',
  );
}
