/**
 * OpenAPI over HTTP: `/openapi/v2`, `/openapi/v3` and its documents, in JSON and in gnostic's protobuf. A request with
 * a wrong hash is redirected to the URL with the right hash; the answer to the right hash is immutable.
 */
import type { PlainResponse } from "#platform/http.ts";
import type { Clock } from "#platform/clock.ts";
import type { RequestContext } from "#server/context.ts";
import { type AcceptClause, parseAccept } from "#forms/negotiate.ts";
import type { ResourceCatalog } from "./catalog.ts";
import type { Delegates } from "./delegates.ts";
import { documentResponse } from "./document-response.ts";
import type { Documents } from "./non-resource.ts";
import type { ApiSurface } from "./openapi/model.ts";
import { encodeJson, type EncodedDocument } from "./openapi/encoded-document.ts";
import { OpenapiDocuments } from "./openapi/openapi.ts";

const json = "application/json";
const protobufV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** The old spelling, which client-go still sends, is not a valid media type. */
const protobufV2Old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const protobufV3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const protobufV3Old = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
const indexType = "text/plain; charset=utf-8";
const yearMs = 365 * 24 * 3_600_000;
const etagOnly = { vary: "Accept" };
const v2Headers = { vary: ["Accept-Encoding", "Accept"] };
/** Idle time after which documents are dropped. Clients cache them by hash, so one is rarely read again soon. */
const idleMs = 300_000;

/** These refusals have an empty body, as upstream. */
const notFound: PlainResponse = { kind: "bytes", status: 404, headers: {}, body: [] };
const notAcceptable: PlainResponse = { kind: "bytes", status: 406, headers: etagOnly, body: [] };

export class OpenapiHttp implements Documents {
  readonly #documents: OpenapiDocuments;
  readonly #clock: Clock;
  readonly #delegates: Delegates;
  #mergedIndex: { readonly own: EncodedDocument; readonly merged: EncodedDocument } | undefined;
  #askedMs = 0;
  #isForgetting = false;

  constructor(
    deps: {
      readonly catalog: ResourceCatalog;
      readonly clock: Clock;
      readonly delegates: Delegates;
    },
    version: string,
  ) {
    const { catalog, delegates } = deps;
    this.#delegates = delegates;
    this.#clock = deps.clock;
    this.#documents = new OpenapiDocuments(() => surfaceOf(catalog, version));
    catalog.onChange(() => this.#documents.surfaceChanged());
    delegates.onChange(() => {
      this.#mergedIndex = undefined;
      this.#documents.setOthers(delegates.openapiV2());
    });
  }

  paths(): readonly string[] {
    return ["/openapi/v2", "/openapi/v3"];
  }

  async serve(context: RequestContext): Promise<PlainResponse | undefined> {
    const { request } = context;
    const path = request.path.replace(/\/$/, "");
    if (!path.startsWith("/openapi/")) return undefined;
    this.#forgetWhenIdle();
    if (path === "/openapi/v2") return this.#v2(context);
    if (path === "/openapi/v3") {
      // The index is JSON with a text media type, whatever the client accepts, as upstream.
      return documentResponse(request, await this.#v3Index(context), indexType, {});
    }
    if (!path.startsWith("/openapi/v3/")) return undefined;
    const name = path.slice("/openapi/v3/".length);
    return this.#remoteV3(context, name) ?? this.#v3(context, name);
  }

  /** Index of this server's documents and of other servers', which supply their own addresses with hashes. */
  async #v3Index(context: RequestContext): Promise<EncodedDocument> {
    const own = await this.#documents.v3Index(context.pace);
    const remote = this.#delegates.openapiV3();
    if (remote.size === 0) return own;
    if (this.#mergedIndex?.own === own) return this.#mergedIndex.merged;
    const { paths } = JSON.parse(new TextDecoder().decode(own.body)) as { readonly paths: object };
    const others = [...remote].map(([name, serverRelativeURL]) => [name, { serverRelativeURL }]);
    const merged = encodeJson({ paths: { ...paths, ...Object.fromEntries(others) } });
    this.#mergedIndex = { own, merged };
    return merged;
  }

  /** Passes the request on. The other server answers 304 to a client that has the document. */
  #remoteV3(context: RequestContext, name: string): Promise<PlainResponse> | undefined {
    if (!this.#delegates.openapiV3().has(name)) return undefined;
    const [, group = "", version = ""] = name.split("/");
    return this.#delegates.find(group, version)?.serve(context);
  }

  /** Drops the documents when idle. A single timer is rearmed as long as requests arrive. */
  #forgetWhenIdle(): void {
    this.#askedMs = this.#clock.monotonicMs();
    if (this.#isForgetting) return;
    this.#isForgetting = true;
    this.#armForgetting(idleMs);
  }

  #armForgetting(delayMs: number): void {
    this.#clock.after("openapi.idle", delayMs, () => {
      const leftMs = this.#askedMs + idleMs - this.#clock.monotonicMs();
      if (leftMs > 0) return this.#armForgetting(leftMs);
      this.#isForgetting = false;
      this.#documents.forgetBodies();
    });
  }

  async #v2(context: RequestContext): Promise<PlainResponse> {
    const type = chooseMediaType(context, [json, protobufV2, protobufV2Old]);
    if (type === undefined) return { ...notAcceptable, headers: v2Headers };
    const protobuf = type !== json;
    const document = await this.#documents.v2(protobuf ? "protobuf" : "json", context.pace);
    const contentType = protobuf ? protobufV2 : json;
    return documentResponse(context.request, document, contentType, v2Headers);
  }

  async #v3(context: RequestContext, name: string): Promise<PlainResponse> {
    if (!this.#documents.hasV3(name)) return notFound;
    const type = chooseMediaType(context, [json, protobufV3, protobufV3Old]);
    if (type === undefined) return notAcceptable;
    const protobuf = type !== json;
    const form = protobuf ? "protobuf" : "json";
    const document = await this.#documents.v3(name, form, context.pace);
    if (document === undefined) return notFound;
    const contentType = protobuf ? protobufV3 : json;
    const hash = context.query.get("hash") ?? "";
    if (hash === "") return documentResponse(context.request, document, contentType, etagOnly);
    if (hash !== document.hash) {
      const location = `/openapi/v3/${name}?hash=${document.hash}`;
      return { kind: "bytes", status: 301, headers: { location }, body: [] };
    }
    return documentResponse(context.request, document, contentType, {
      ...etagOnly,
      "cache-control": "public, immutable",
      expires: new Date(this.#clock.nowMs() + yearMs).toUTCString(),
    });
  }
}

function surfaceOf(catalog: ResourceCatalog, version: string): ApiSurface {
  return { version, resources: catalog.infos(), custom: catalog.definitions() };
}

/** @returns undefined when the client accepts none of them. */
function chooseMediaType(context: RequestContext, types: readonly string[]): string | undefined {
  const header = context.request.headers["accept"] ?? "";
  if (header === "") return json;
  for (const clause of parseAccept(header)) {
    const found = types.find((type) => matches(clause, type));
    if (found !== undefined) return found;
  }
  return undefined;
}

function matches(clause: AcceptClause, type: string): boolean {
  const [main, sub] = type.split("/");
  if (clause.type === "*") return true;
  return clause.type === main && (clause.subtype === "*" || clause.subtype === sub);
}
