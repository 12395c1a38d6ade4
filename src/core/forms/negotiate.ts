/**
 * Content negotiation: the form of an answer, and the form of a body.
 *
 * Clauses of Accept are tried in Go's order: higher q first, then exact types before wildcards, then
 * as written; within a clause the server's own order decides. Unknown parameters are ignored. An `as`
 * that the endpoint cannot serve makes the clause fail, not the request.
 */
import { given } from "#base/given.ts";
import { dictionary } from "#base/own.ts";
import { failure, type ApiError } from "#api/status.ts";

export const protobufType = "application/vnd.kubernetes.protobuf";

export type MediaType = "application/json" | "application/yaml" | typeof protobufType;

interface Transform {
  readonly kind: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList";
  /** Version of group meta.k8s.io. */
  readonly version: "v1" | "v1beta1";
}

export interface Negotiated {
  readonly mediaType: MediaType;
  readonly isPretty: boolean;
  readonly transform?: Transform;
}

export interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly q: number;
  readonly params: Readonly<Record<string, string>>;
}

const served: readonly MediaType[] = ["application/json", "application/yaml", protobufType];
const transformKinds = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);
/** Maximum cached headers; clients send the same few, so each is parsed once. */
const parsedMax = 256;
const parsed = new Map<string, readonly AcceptClause[]>();

/**
 * Transforms that an endpoint can serve: none for discovery, metadata only for kinds without a store, all for
 * objects. Custom objects have no protobuf except for their metadata; tables have none at all.
 */
export type TransformRule = "none" | "metadata" | "objects" | "custom";

/** @throws ApiError 406 when no clause of the header matches. */
export function negotiate(
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
  rule: TransformRule,
): Negotiated {
  const pretty = isPretty(headers, query);
  const accept = headers["accept"] ?? "";
  if (accept === "") return { mediaType: "application/json", isPretty: pretty };
  for (const clause of parseAccept(accept)) {
    const transform = clauseTransform(clause, rule);
    if (transform === "refused") continue;
    const mediaType = served.find(
      (type) => clauseMatches(clause, type) && canTake(type, transform, rule),
    );
    if (mediaType === undefined) continue;
    const more = clause.params["pretty"] === "1" || pretty;
    return { mediaType, isPretty: more, ...given({ transform }) };
  }
  throw notAcceptable(served);
}

function canTake(type: MediaType, transform: Transform | undefined, rule: TransformRule): boolean {
  if (type !== protobufType) return true;
  return transform === undefined ? rule !== "custom" : transform.kind !== "Table";
}

/**
 * Checks Accept as upstream's router does, before anything else: it compares types as written, knows only the
 * wildcard for all types, and ignores weights. @throws ApiError 406 when `types` has none of them.
 */
export function requireForm(
  headers: Readonly<Record<string, string>>,
  types: readonly string[],
): void {
  const accept = headers["accept"] ?? "";
  if (accept === "") return;
  for (const part of accept.split(",")) {
    const mark = part.indexOf(";");
    const type = (mark < 0 ? part : part.slice(0, mark)).trim();
    if (type === "*/*" || types.includes(type)) return;
  }
  const text = `406: Not Acceptable\n\nAvailable representations: ${types.join(", ")}`;
  throw failure(406, "NotAcceptable", text, {});
}

/** The form of a watch, for which YAML is impossible. @throws ApiError 406. */
export function streamable(form: Negotiated): Negotiated {
  if (form.mediaType !== "application/yaml") return form;
  throw notAcceptable([`application/json;stream=watch`, `${protobufType};stream=watch`]);
}

/** The Content-Type of a watch: as upstream, only JSON has no parameter. */
export function streamType(mediaType: MediaType): string {
  return mediaType === "application/json" ? mediaType : `${mediaType};stream=watch`;
}

/** The form of an error: indented JSON if nothing matches, or if a table was requested. */
export function negotiateError(
  headers: Readonly<Record<string, string>>,
  query: URLSearchParams,
): Negotiated {
  try {
    return negotiate(headers, query, "none");
  } catch {
    return { mediaType: "application/json", isPretty: true };
  }
}

export function clauseMatches(clause: AcceptClause, mediaType: string): boolean {
  const [type, subtype] = mediaType.split("/");
  if (clause.type === "*" && clause.subtype === "*") return true;
  return clause.type === type && (clause.subtype === "*" || clause.subtype === subtype);
}

function clauseTransform(
  clause: AcceptClause,
  rule: TransformRule,
): Transform | undefined | "refused" {
  const kind = clause.params["as"];
  if (kind === undefined) return undefined;
  const version = clause.params["v"];
  const known = transformKinds.has(kind) && clause.params["g"] === "meta.k8s.io";
  if (rule === "none" || !known || (rule === "metadata" && kind === "Table")) return "refused";
  if (version !== "v1" && version !== "v1beta1") return "refused";
  return { kind: kind as Transform["kind"], version }; // checked against transformKinds
}

export function parseAccept(header: string): readonly AcceptClause[] {
  const known = parsed.get(header);
  if (known !== undefined) return known;
  const clauses = header
    .split(",")
    .map(parseClause)
    .filter((clause) => clause !== undefined)
    .sort(byPreference);
  if (parsed.size >= parsedMax) parsed.clear();
  parsed.set(header, clauses);
  return clauses;
}

function byPreference(a: AcceptClause, b: AcceptClause): number {
  if (a.q !== b.q) return b.q - a.q;
  const wild = (text: string): number => (text === "*" ? 1 : 0);
  return wild(a.type) - wild(b.type) || wild(a.subtype) - wild(b.subtype);
}

function parseClause(text: string): AcceptClause | undefined {
  const [media = "", ...rest] = text.split(";").map((part) => part.trim());
  const [type = "", subtype = "*"] = media === "*" ? ["*", "*"] : media.split("/");
  if (type === "") return undefined;
  const params = dictionary<string>();
  let q = 1;
  for (const part of rest) {
    const mark = part.indexOf("=");
    const name = (mark < 0 ? part : part.slice(0, mark)).trim().toLowerCase();
    const value =
      mark < 0
        ? ""
        : part
            .slice(mark + 1)
            .trim()
            .replace(/^"(.*)"$/, "$1");
    if (name === "q") q = Number.isFinite(Number(value)) ? Number(value) : 1;
    else params[name] = value;
  }
  return { type: type.toLowerCase(), subtype: subtype.toLowerCase(), q, params };
}

/** Requested by `pretty`, or implied by an interactive user agent (curl, wget, browsers). */
function isPretty(headers: Readonly<Record<string, string>>, query: URLSearchParams): boolean {
  const asked = query.get("pretty");
  if (asked !== null && asked !== "") return /^(1|t|true)$/i.test(asked);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "");
}

/** The media type of a body without parameters; JSON if the client sent none. */
export function contentType(headers: Readonly<Record<string, string>>): string {
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  return type === "" ? "application/json" : type;
}

function notAcceptable(types: readonly string[]): ApiError {
  const text = `only the following media types are accepted: ${types.join(", ")}`;
  return failure(406, "NotAcceptable", text);
}

export function unsupportedMediaType(types: readonly string[]): ApiError {
  const list = types.join(", ");
  const text = `the body of the request was in an unknown format - accepted media types include: ${list}`;
  return failure(415, "UnsupportedMediaType", text);
}

export const objectMediaTypes: readonly string[] = served;

/** Media types of lists, which may be watched. */
export const listMediaTypes: readonly string[] = [
  ...served,
  "application/json;stream=watch",
  `${protobufType};stream=watch`,
];
