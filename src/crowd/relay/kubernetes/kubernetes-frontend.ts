/**
 * GET and LIST of mirrored resources as an API server answers them, from the mirror; WATCH is
 * kubernetes-watch.ts. What cannot be answered exactly is "pass": the upstream's.
 *
 * Cost   a whole list is shared bytes.
 */
import { notFound } from "#api/status.ts";
import type { Headers } from "#platform/http.ts";
import { Pace } from "#platform/pace.ts";
// uncharged: whole lists are made once for all clients, and bounded (`bodiesMax`).
import { uncharged } from "#platform/ledger.ts";
import { bytesResponse, compressBody } from "#server/respond.ts";
import { gzipBytesMin } from "#forms/gzip.ts";
import { isLongList, wholeList } from "#server/whole-list.ts";
import { keyOfText, type SharedObject } from "#forms/shared-object.ts";
import { acceptsGzip } from "../etag/accept-encoding.ts";
import { type Answer, type FrontendDeps, freshEnough, type Read } from "./kubernetes-read.ts";
import { answerWatch, type WatchLimits } from "./kubernetes-watch.ts";
import { type Page, pageOf, presentPage } from "./list-page.ts";
import { listKindOf } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import {
  encode,
  listItem,
  oneBody,
  type ReadForm,
  readForm,
  rowMaker,
  table,
} from "./read-form.ts";
import { formOf, getVersion, type ListQuery, listQuery } from "./read-query.ts";

/** Minimum size of a body that gets its own turn of the loop: writing it takes a millisecond or more over TLS. */
const turnBytesMin = 512 * 1024;

export class KubernetesFrontend {
  readonly #deps: FrontendDeps;
  readonly #limits: WatchLimits;

  constructor(deps: FrontendDeps, limits: WatchLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  async answer(read: Read): Promise<Answer> {
    switch (read.verb) {
      case "get":
        return this.#get(read);
      case "list":
        return this.#list(read);
      case "watch":
        return answerWatch(this.#deps, read, this.#limits);
      default:
        return "pass";
    }
  }

  async #get(read: Read): Promise<Answer> {
    const { resource, request, place, query } = read;
    const version = getVersion(query);
    const negotiated = formOf(resource.kind, request, query);
    if (version === "pass" || negotiated === "pass") return "pass";
    if (negotiated.transform?.kind === "PartialObjectMetadataList") return "pass";
    // Reading one object costs the upstream less than proving that the mirror's copy is the newest.
    if (version.kind === "latest" && this.#deps.consistency === "verify") return "pass";
    const form = readForm(resource, negotiated, query);
    if (form === undefined) return "pass";
    const headers = await freshEnough(this.#deps, resource, version);
    const { kind, mirror } = resource;
    if (!mirror.serving) return "pass";
    const name = keyOfText(place.name);
    const key = kind.namespaced ? `${keyOfText(place.namespace)}/${name}` : name;
    const object = mirror.cache.state.get(key);
    if (object === undefined) throw notFound(kind, place.name);
    const body = this.#one(resource, form, object);
    return bytesResponse(200, [body], form.contentType, headers);
  }

  #one(resource: Mirrored, form: ReadForm, cached: SharedObject): Uint8Array {
    if (form.kind !== "table") return oneBody(resource, form, cached);
    const { resourceVersion, object } = cached;
    const options = { nowMs: this.#deps.clock.nowMs(), resourceVersion };
    return encode(table(resource, form, [object], options));
  }

  async #list(read: Read): Promise<Answer> {
    const { resource, request, place, query } = read;
    const asked = listQuery(resource.kind, place, request, query);
    if (asked === "pass") return "pass";
    const form = readForm(resource, asked.form, query);
    if (form === undefined || (form.kind === "metadata" && !isListForm(asked))) return "pass";
    const headers = await this.#listFresh(resource, asked);
    if (!resource.mirror.serving) return "pass";
    if (form.kind !== "table" && isWholePresent(asked)) {
      return this.#wholeList(read, asked, form, headers);
    }
    const pace = new Pace(this.#deps.clock);
    const page = await pageOf(resource, asked, place, pace);
    if (page === undefined) return "pass";
    const body = await this.#pageBody(read, form, page, pace);
    const whole = bytesResponse(200, body, form.contentType, headers);
    return compressBody(request, whole, read.holding);
  }

  #pageBody(
    { resource, holding }: Pick<Read, "resource" | "holding">,
    form: ReadForm,
    { items, metadata }: Page,
    pace: Pace,
  ): Promise<readonly Uint8Array[]> {
    if (form.kind === "table")
      return this.#tableBody({ resource, holding }, form, { items, metadata }, pace);
    const head = listHead(resource, form, metadata);
    return resource.blocks.bodyInTurns(head, items, listItem(resource, form), pace);
  }

  #tableBody(
    { resource, holding }: Pick<Read, "resource" | "holding">,
    form: Extract<ReadForm, { kind: "table" }>,
    { items, metadata }: Page,
    pace: Pace,
  ): Promise<readonly Uint8Array[]> {
    const nowMs = this.#deps.clock.nowMs();
    const head = table(resource, form, [], { nowMs, ...metadata });
    const row = rowMaker(resource, form, nowMs);
    // Every index `at` is within the page.
    const entry = (at: number): object => row((items[at] as SharedObject).object);
    const rows = { count: items.length, isLong: isLongList(items), entry };
    const negotiated = { mediaType: form.contentType, isPretty: false };
    return wholeList(head, "rows", rows, negotiated, pace, holding);
  }

  /** Answers with a whole list, which many clients request: one encoding and one compression per state for all of them. */
  async #wholeList(
    { resource, request }: Read,
    asked: ListQuery,
    form: Exclude<ReadForm, { kind: "table" }>,
    headers: Headers,
  ): Promise<Answer> {
    const { mirror } = resource;
    const item = listItem(resource, form);
    const pace = new Pace(this.#deps.clock);
    const make = async (): Promise<readonly Uint8Array[]> => {
      const page = await presentPage(resource, asked, pace);
      // The body is shared by all clients, so no client is charged.
      return this.#pageBody({ resource, holding: uncharged }, form, page, pace);
    };
    const key = `${asked.predicate.from} ${item.key}`;
    const at = `${mirror.cache.state.revision}/${mirror.proven}`;
    const body = await resource.bodies.get(key, at, make);
    // Simultaneous large answers are written one per turn.
    if (body.bytes >= turnBytesMin) await pace.turn();
    if (body.bytes < gzipBytesMin || !acceptsGzip(request.headers["accept-encoding"])) {
      const left = this.#deps.largeAnswers.enter(body.bytes);
      const whole = bytesResponse(200, body.chunks, form.contentType, headers);
      return { ...whole, left, isShared: true };
    }
    const packed = { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" };
    const bytes = await body.packed();
    const left = this.#deps.largeAnswers.enter(bytes.length);
    return { ...bytesResponse(200, [bytes], form.contentType, packed), left, isShared: true };
  }

  #listFresh(resource: Mirrored, asked: ListQuery): Promise<Headers> {
    if (asked.continue !== "" || asked.version.kind === "exact") return Promise.resolve({});
    return freshEnough(this.#deps, resource, asked.version);
  }
}

/** Whether the query selects all objects of a place in their current state: then the body is equal for all clients. */
function isWholePresent(asked: ListQuery): boolean {
  return (
    asked.plain && asked.limit === 0 && asked.continue === "" && asked.version.kind !== "exact"
  );
}

function isListForm(asked: ListQuery): boolean {
  return asked.form.transform?.kind === "PartialObjectMetadataList";
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
