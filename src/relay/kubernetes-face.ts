/**
 * GET, LIST and WATCH of mirrored resources as an API server answers them, from the mirror.
 *
 * Holds  a read is never older than it asks to be: it waits for the mirror, or has the upstream
 *        listed once for all who wait; while the upstream is away, "most recent" is the last known
 *        state and says so in a Warning. What cannot be answered exactly is "pass": the upstream's.
 * Cost   a whole list is shared bytes; a watcher is a cursor.
 */
import { ApiError, notFound } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Random } from "#platform/random.ts";
import { streamType } from "#server/negotiate.ts";
import type { RequestInfo } from "#server/request-info.ts";
import { bytesResponse, compressed } from "#server/respond.ts";
import { WatchStream, type WatchStreamDeps } from "#server/watch-stream.ts";
import type { Snapshot } from "#watch/cache-state.ts";
import type { Cursor } from "#watch/cursor.ts";
import { namespaceRange } from "#watch/predicate.ts";
import { keyOfText, type SharedObject } from "#watch/shared-object.ts";
import { acceptsGzip } from "./accept-encoding.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import type { Herd } from "./herd.ts";
import type { RelayLimits } from "./limits.ts";
import type { RelayMetrics } from "./metrics.ts";
import { listKindOf } from "./mirrored-kind.ts";
import type { Mirrored } from "./mirrored.ts";
import {
  encode,
  listItem,
  oneBody,
  type ReadForm,
  readForm,
  table,
  watchFormat,
} from "./read-form.ts";
import {
  formOf,
  getVersion,
  type ListQuery,
  listQuery,
  type Version,
  type WatchQuery,
  watchQuery,
} from "./read-query.ts";

export interface FaceDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly streams: WatchStreamDeps;
  readonly metrics: RelayMetrics;
  readonly herd: Herd;
  /** "verify": as Kubernetes promises. "cache": the newest state the mirror has counts as most recent. */
  readonly consistency: "verify" | "cache";
}

/** One read of a mirrored resource, already authorised. */
export interface Read {
  readonly resource: Mirrored;
  readonly request: PlainRequest;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
}

type Answer = PlainResponse | "pass";

/** From this size on a body is worth compressing, as upstream thinks. */
const gzipBytesMin = 128 * 1024;

export class KubernetesFace {
  readonly #deps: FaceDeps;
  readonly #limits: RelayLimits;

  constructor(deps: FaceDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  async answer(read: Read): Promise<Answer> {
    switch (read.info.verb) {
      case "get":
        return this.#get(read);
      case "list":
        return this.#list(read);
      case "watch":
        return this.#watch(read);
      default:
        return "pass";
    }
  }

  async #get(read: Read): Promise<Answer> {
    const { resource, request, info, query } = read;
    const version = getVersion(query);
    const negotiated = formOf(resource.kind, request, query);
    if (version === "pass" || negotiated === "pass") return "pass";
    if (negotiated.transform?.kind === "PartialObjectMetadataList") return "pass";
    // One object straight from the upstream costs it less than a proof that ours is the newest.
    if (version.kind === "latest" && this.#deps.consistency === "verify") return "pass";
    const form = readForm(resource, negotiated, query);
    if (form === undefined) return "pass";
    const headers = await this.#fresh(resource, version);
    const { kind, mirror } = resource;
    if (!mirror.serving) return "pass";
    const name = keyOfText(info.pathName);
    const key = kind.namespaced ? `${keyOfText(info.namespace)}/${name}` : name;
    const object = mirror.cache.state.get(key);
    if (object === undefined) throw notFound(kind, info.pathName);
    const body = this.#one(resource, form, object);
    return bytesResponse(200, [body], form.contentType, headers);
  }

  #one(resource: Mirrored, form: ReadForm, cached: SharedObject): Uint8Array {
    if (form.kind !== "table") return oneBody(resource, form, cached);
    const { resourceVersion, object } = cached;
    return encode(
      table(resource, form, [object], { nowMs: this.#deps.clock.nowMs(), resourceVersion }),
    );
  }

  async #list(read: Read): Promise<Answer> {
    const { resource, request, info, query } = read;
    const asked = listQuery(resource.kind, info, request, query);
    if (asked === "pass") return "pass";
    const form = readForm(resource, asked.form, query);
    if (form === undefined || (form.kind === "metadata" && !isListForm(asked))) return "pass";
    const headers = await this.#listFresh(resource, asked);
    if (!resource.mirror.serving) return "pass";
    if (form.kind !== "table" && isWholePresent(asked)) {
      return this.#wholeList(read, asked, form, headers);
    }
    const page = pageOf(resource, asked, info.namespace);
    if (page === undefined) return "pass";
    if (form.kind === "table") {
      const { items, metadata } = page;
      const options = { nowMs: this.#deps.clock.nowMs(), ...metadata };
      const shown = table(
        resource,
        form,
        items.map((item) => item.object),
        options,
      );
      return compressed(request, bytesResponse(200, [encode(shown)], form.contentType, headers));
    }
    const item = listItem(resource, form);
    const body = resource.blocks.body(listHead(resource, form, page.metadata), page.items, item);
    return compressed(request, bytesResponse(200, body, form.contentType, headers));
  }

  /** What crowds ask for: one encoding and one compression for all who come at one state. */
  async #wholeList(
    { resource, request }: Read,
    asked: ListQuery,
    form: Exclude<ReadForm, { kind: "table" }>,
    headers: Headers,
  ): Promise<Answer> {
    const { mirror } = resource;
    const item = listItem(resource, form);
    const make = (): readonly Uint8Array[] => {
      const { metadata, items } = presentPage(resource, asked);
      return resource.blocks.body(listHead(resource, form, metadata), items, item);
    };
    const key = `${asked.predicate.from} ${item.key}`;
    const body = resource.bodies.get(key, `${mirror.cache.state.revision}/${mirror.proven}`, make);
    if (body.bytes < gzipBytesMin || !acceptsGzip(request.headers["accept-encoding"])) {
      const left = this.#deps.herd.enter(body.bytes);
      return { ...bytesResponse(200, body.chunks, form.contentType, headers), left };
    }
    const packed = { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" };
    const bytes = await body.packed();
    const left = this.#deps.herd.enter(bytes.length);
    return { ...bytesResponse(200, [bytes], form.contentType, packed), left };
  }

  #listFresh(resource: Mirrored, asked: ListQuery): Promise<Headers> {
    if (asked.continue !== "" || asked.version.kind === "exact") return Promise.resolve({});
    return this.#fresh(resource, asked.version);
  }

  /** Waits until the mirror is as new as `version` wants. @returns headers that say so when it is not. */
  async #fresh(resource: Mirrored, version: Version): Promise<Headers> {
    const { freshness, mirror } = resource;
    if (version.kind === "atLeast") await freshness.atLeast(version.revision);
    if (version.kind !== "latest" || this.#deps.consistency === "cache") return {};
    try {
      await freshness.latest();
      return {};
    } catch (error) {
      if (error instanceof ApiError && error.code < 500 && error.code !== 429) throw error;
      this.#deps.metrics.staleReads.add([]);
      const seconds = Math.ceil(mirror.ageMs / 1000);
      const text = `the relay cannot reach its upstream; this may be ${seconds} s old`;
      return { warning: `299 - "${text}"` };
    }
  }

  async #watch(read: Read): Promise<Answer> {
    const { resource, request, info, query } = read;
    const asked = watchQuery(resource.kind, info, request, query);
    if (asked === "pass") return "pass";
    const form = readForm(resource, asked.form, query);
    if (form === undefined) return "pass";
    const headers = await this.#fresh(resource, asked.version);
    if (!resource.mirror.serving) return "pass";
    const left = this.#enter(resource, asked);
    const stream = this.#stream(resource, asked);
    const refused = asked.after === undefined ? undefined : resource.mirror.refusal(asked.after);
    const begun =
      asked.after === undefined ? "state" : refused === undefined ? "resumed" : "refused";
    this.#deps.metrics.watchesStarted.add([begun]);
    if (refused === undefined) {
      const cursor = resource.mirror.cache.watch(
        {
          predicate: asked.predicate,
          bookmarks: asked.allowBookmarks,
          start: asked.after === undefined ? "state" : { after: asked.after },
          marker: asked.marker,
          latest: asked.latestOnly,
          // The sum is over whole objects: who gets other forms could not add it up.
          checksums: asked.checksums && form.kind === "objects",
        },
        stream,
      );
      if (left === undefined) stream.attach(cursor);
      else attachHerd(stream, cursor, left);
    } else {
      this.#deps.metrics.expired.add([]);
      stream.end(refused);
    }
    const format = watchFormat(this.#deps.clock, resource, form);
    const contentType = streamType(form.contentType);
    return stream.byteResponse(format, { "content-type": contentType, ...headers });
  }

  /** A watch that begins with a whole state is a list by another name. Undefined: it does not. */
  #enter({ kind, mirror }: Mirrored, asked: WatchQuery): (() => void) | undefined {
    const { predicate, after } = asked;
    if (after !== undefined || predicate.selective) return undefined;
    if (kind.namespaced && predicate.from !== "") return undefined;
    return this.#deps.herd.enter(mirror.cache.state.bytes);
  }

  #stream(resource: Mirrored, asked: WatchQuery): WatchStream {
    const { random } = this.#deps;
    const { watchMsMin } = this.#limits;
    const { timeoutSeconds, allowBookmarks } = asked;
    const timeoutMs =
      timeoutSeconds > 0 ? timeoutSeconds * 1000 : watchMsMin + random.below(watchMsMin);
    const { apiVersion, kind } = resource.kind;
    const options = { apiVersion, kind, timeoutMs, allowBookmarks, convert: asStored };
    return new WatchStream(this.#deps.streams, options);
  }
}

/** Out of the herd when its watcher has the state, or is gone; from then on it is a watcher like any other. */
function attachHerd(stream: WatchStream, cursor: Cursor, left: () => void): void {
  stream.attach({
    resume() {
      cursor.resume();
      if (!cursor.live) return;
      left();
      stream.attach(cursor);
    },
    bookmark: () => cursor.bookmark(),
    close() {
      left();
      cursor.close();
    },
  });
}

function asStored<T>(object: T): T {
  return object;
}

/** Everything of a place as it is now: the same for everybody who asks at one state. */
function isWholePresent(asked: ListQuery): boolean {
  return (
    asked.plain && asked.limit === 0 && asked.continue === "" && asked.version.kind !== "exact"
  );
}

function isListForm(asked: ListQuery): boolean {
  return asked.form.transform?.kind === "PartialObjectMetadataList";
}

interface Page {
  readonly items: readonly SharedObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

function listHead(
  resource: Mirrored,
  form: ReadForm,
  metadata: object,
): { apiVersion: string; kind: string; metadata: object } {
  if (form.kind === "metadata") {
    const apiVersion = `meta.k8s.io/${form.version}`;
    return { apiVersion, kind: "PartialObjectMetadataList", metadata };
  }
  return { apiVersion: resource.kind.apiVersion, kind: listKindOf(resource.kind), metadata };
}

/** Undefined: of a moment the mirror does not know; the upstream may. */
function pageOf(resource: Mirrored, asked: ListQuery, namespace: string): Page | undefined {
  const prefix = namespaceRange(resource.kind.namespaced ? keyOfText(namespace) : "").from;
  if (asked.continue !== "") {
    const token = decodeContinue(asked.continue);
    const snapshot = token === undefined ? undefined : snapshotAt(resource, token.revision);
    if (token === undefined || snapshot === undefined) return undefined;
    return pageFrom(resource, asked, snapshot, prefix, prefix + token.start);
  }
  if (asked.version.kind === "exact") {
    const snapshot = snapshotAt(resource, asked.version.revision);
    if (snapshot === undefined) return undefined;
    return pageFrom(resource, asked, snapshot, prefix, asked.predicate.from);
  }
  if (asked.limit > 0)
    return pageFrom(resource, asked, present(resource), prefix, asked.predicate.from);
  return presentPage(resource, asked);
}

function presentPage({ mirror }: Mirrored, { predicate }: ListQuery): Page {
  const items: SharedObject[] = [];
  mirror.cache.state.scan(predicate.from, predicate.to, (object) => {
    if (predicate.matches(object)) items.push(object);
    return true;
  });
  return { items, metadata: { resourceVersion: String(mirror.proven) } };
}

/** By the newest name it has: what was asked for may be newer than the newest event. */
function present({ mirror }: Mirrored): Snapshot {
  return { ...mirror.cache.state.snapshot(), revision: mirror.proven };
}

function snapshotAt(resource: Mirrored, revision: number): Snapshot | undefined {
  const { mirror } = resource;
  if (mirror.refusal(revision) !== undefined) return undefined;
  if (revision <= mirror.revision) return mirror.cache.state.snapshotAt(revision);
  return mirror.proves(revision) ? present(resource) : undefined;
}

function pageFrom(
  resource: Mirrored,
  asked: ListQuery,
  snapshot: Snapshot,
  prefix: string,
  start: string,
): Page {
  const { predicate, limit, plain } = asked;
  const items: SharedObject[] = [];
  let last = "";
  let more = false;
  snapshot.objects.scan(start < predicate.from ? predicate.from : start, predicate.to, (object) => {
    if (limit > 0 && items.length >= limit) return !(more = true);
    if (predicate.matches(object)) items.push(object);
    last = object.key;
    return true;
  });
  const { revision } = snapshot;
  const resourceVersion = String(revision);
  if (!more) return { items, metadata: { resourceVersion } };
  resource.mirror.cache.state.pin(snapshot);
  const token = encodeContinue({ revision, start: `${last.slice(prefix.length)}\0` });
  const left = plain ? snapshot.objects.countRange(`${last}\0`, predicate.to) : undefined;
  const counted = left === undefined ? {} : { remainingItemCount: left };
  return { items, metadata: { resourceVersion, continue: token, ...counted } };
}
