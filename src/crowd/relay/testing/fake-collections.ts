/** An API server of several resources for tests: whole objects under paths, one resourceVersion for all. */
import {
  type ByteRequest,
  type ByteResponse,
  type ByteTransport,
  ByteTransportError,
} from "#platform/byte-transport.ts";
import { FakeBodyStream, jsonAnswer } from "#platform/testing/http-server.ts";
import type { AnyObject } from "#api/object.ts";

type EventType = "ADDED" | "MODIFIED" | "DELETED";

interface Collection {
  readonly objects: Map<string, AnyObject>;
  readonly watches: Set<FakeBodyStream>;
}

const encoder = new TextEncoder();

export class FakeCollections implements ByteTransport {
  revision = 1;
  /** Further requests fail as if the port were closed. */
  down = false;
  /** Paths whose requests get 503, as from an API server whose aggregated server is unavailable. */
  readonly away = new Set<string>();
  /** Whether every request gets 503, as from a load balancer whose API server is unavailable. */
  balancerAlone = false;
  /** Status code of /readyz while the API server is available. */
  readyz = 200;
  readonly requests: ByteRequest[] = [];
  readonly #collections = new Map<string, Collection>();

  /** Serves `path` from now on. */
  serve(path: string): void {
    this.#collections.set(path, { objects: new Map(), watches: new Set() });
  }

  /** Ends the watches of the path. */
  cut(path: string): void {
    const watches = this.#collections.get(path)?.watches;
    for (const watch of watches ?? []) watch.end();
    watches?.clear();
  }

  /** Ends the watches of the path and answers 404 from now on. */
  withdraw(path: string): void {
    this.cut(path);
    this.#collections.delete(path);
  }

  put(path: string, object: AnyObject): void {
    const { objects } = this.#at(path);
    const key = keyOf(object);
    const metadata = { ...object.metadata, resourceVersion: String(++this.revision) };
    const stored = { ...object, metadata };
    const type = objects.has(key) ? "MODIFIED" : "ADDED";
    objects.set(key, stored);
    this.#tell(path, type, stored);
  }

  remove(path: string, object: AnyObject): void {
    this.#at(path).objects.delete(keyOf(object));
    const metadata = { ...object.metadata, resourceVersion: String(++this.revision) };
    this.#tell(path, "DELETED", { ...object, metadata });
  }

  watchers(path: string): number {
    return this.#collections.get(path)?.watches.size ?? 0;
  }

  send(request: ByteRequest): Promise<ByteResponse> {
    this.requests.push(request);
    if (this.down) return Promise.reject(new ByteTransportError("refused", "ECONNREFUSED"));
    const [path = "", query = ""] = request.target.split("?");
    if (this.balancerAlone || this.away.has(path))
      return Promise.resolve(jsonAnswer(503, { kind: "Status", code: 503 }));
    if (path === "/readyz") return Promise.resolve(jsonAnswer(this.readyz, {}));
    const collection = this.#collections.get(path);
    if (collection === undefined)
      return Promise.resolve(jsonAnswer(404, { kind: "Status", code: 404 }));
    if (new URLSearchParams(query).get("watch") === "true")
      return Promise.resolve(watch(collection));
    const items = [...collection.objects.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const metadata = { resourceVersion: String(this.revision) };
    return Promise.resolve(jsonAnswer(200, { kind: "List", apiVersion: "v1", metadata, items }));
  }

  close(): void {
    for (const path of this.#collections.keys()) this.withdraw(path);
  }

  #at(path: string): Collection {
    const collection = this.#collections.get(path);
    if (collection === undefined) throw new TypeError(`nothing is served at ${path}`);
    return collection;
  }

  #tell(path: string, type: EventType, object: AnyObject): void {
    const frame = encoder.encode(`${JSON.stringify({ type, object })}\n`);
    for (const watch of this.#at(path).watches) watch.send(frame);
  }
}

function keyOf({ metadata }: AnyObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

/** Starts a watch that sends later events only: these tests write nothing between a list and its watch. */
function watch(collection: Collection): ByteResponse {
  const body = new FakeBodyStream();
  collection.watches.add(body);
  return body.response;
}
