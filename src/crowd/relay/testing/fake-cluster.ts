/**
 * For tests: an API server of several resources with its whole history, and ways to it that misbehave on command: held
 * back, cut, compacted. Several relays may each have a way of their own to one cluster.
 */
import {
  type ByteRequest,
  type ByteResponse,
  type ByteTransport,
  ByteTransportError,
} from "#platform/byte-transport.ts";
import { FakeBodyStream, jsonAnswer } from "#platform/testing/http-server.ts";
import type { AnyObject } from "#api/object.ts";

interface ClusterEvent {
  readonly revision: number;
  readonly path: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: AnyObject;
}

export class FakeCluster {
  revision = 1;
  readonly events: ClusterEvent[] = [];
  readonly #state = new Map<string, AnyObject>();

  put(path: string, object: AnyObject): void {
    const key = `${path} ${keyOf(object)}`;
    const metadata = { ...object.metadata, resourceVersion: String(++this.revision) };
    const stored = { ...object, metadata };
    this.#note(path, this.#state.has(key) ? "MODIFIED" : "ADDED", stored);
    this.#state.set(key, stored);
  }

  /** Deletes an object; `key` is its namespace and name. */
  remove(path: string, key: string): void {
    const object = this.#state.get(`${path} ${key}`);
    if (object === undefined) return;
    this.#state.delete(`${path} ${key}`);
    const metadata = { ...object.metadata, resourceVersion: String(++this.revision) };
    this.#note(path, "DELETED", { ...object, metadata });
  }

  /** Returns the existing objects, of one path or of all. */
  objects(path = ""): readonly AnyObject[] {
    const all = [...this.#state].filter(([key]) => path === "" || key.startsWith(`${path} `));
    return all.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  #note(path: string, type: ClusterEvent["type"], object: AnyObject): void {
    this.events.push({ revision: this.revision, path, type, object });
  }
}

interface Stream {
  readonly path: string;
  /** Revision up to which events have been sent. */
  after: number;
  readonly body: FakeBodyStream;
}

const encoder = new TextEncoder();

export class ClusterTransport implements ByteTransport {
  /** Further requests fail as if the port were closed. */
  down = false;
  /** Watches from a lower revision get 410. */
  compacted = 0;
  lists = 0;
  readonly #cluster: FakeCluster;
  readonly #streams = new Set<Stream>();

  constructor(cluster: FakeCluster) {
    this.#cluster = cluster;
  }

  send({ target }: ByteRequest): Promise<ByteResponse> {
    if (this.down) return Promise.reject(new ByteTransportError("refused", "ECONNREFUSED"));
    const [path = "", query = ""] = target.split("?");
    const params = new URLSearchParams(query);
    if (params.get("watch") === "true") {
      return Promise.resolve(this.#watch(path, Number(params.get("resourceVersion"))));
    }
    this.lists++;
    const metadata = { resourceVersion: String(this.#cluster.revision) };
    const items = this.#cluster.objects(path);
    return Promise.resolve(jsonAnswer(200, { kind: "List", apiVersion: "v1", metadata, items }));
  }

  /** Sends up to `count` unsent events of a path, or of every path, and a bookmark after the last one. */
  deliver(path = "", count = Number.POSITIVE_INFINITY): void {
    for (const stream of this.#streams) {
      if (path !== "" && stream.path !== path) continue;
      const due = this.#cluster.events.filter(
        (event) => event.path === stream.path && event.revision > stream.after,
      );
      for (const { type, object, revision } of due.slice(0, count)) {
        stream.body.send(encoder.encode(`${JSON.stringify({ type, object })}\n`));
        stream.after = revision;
      }
      if (due.length <= count) this.#bookmark(stream);
      if (stream.body.over) this.#streams.delete(stream);
    }
  }

  close(): void {
    this.cut();
  }

  /** Cuts the watches of a path, or all watches. */
  cut(path = ""): void {
    for (const stream of this.#streams) {
      if (path !== "" && stream.path !== path) continue;
      this.#streams.delete(stream);
      stream.body.cut();
    }
  }

  #bookmark(stream: Stream): void {
    const { revision } = this.#cluster;
    const object = { metadata: { resourceVersion: String(revision) } };
    stream.body.send(encoder.encode(`${JSON.stringify({ type: "BOOKMARK", object })}\n`));
    stream.after = revision;
  }

  #watch(path: string, after: number): ByteResponse {
    const body = new FakeBodyStream();
    if (after < this.compacted) {
      const object = { kind: "Status", apiVersion: "v1", reason: "Expired", code: 410 };
      body.send(encoder.encode(`${JSON.stringify({ type: "ERROR", object })}\n`));
    }
    this.#streams.add({ path, after, body });
    return body.response;
  }
}

function keyOf({ metadata }: AnyObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}
