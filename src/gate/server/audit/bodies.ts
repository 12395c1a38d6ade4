/**
 * Bodies in audit events: objects of requests and answers as one line of JSON, whatever their media type.
 *
 * Bounds a body of more than `bodyBytesMax` characters is left out, and the event says so as in upstream's truncation.
 *        A body is also left out when the caller's limit does not allow a copy of it (#platform/ledger.ts).
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { parse } from "yaml";
import { objectText } from "#api/json/kept-json.ts";
import type { AnyObject } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { bodyBytes } from "../charges.ts";
import { protobufType } from "#forms/negotiate.ts";
import { decodeProtobuf } from "#forms/protobuf/decode.ts";
import { type AuditEvent, truncatedAnnotation } from "./event.ts";

const bodyBytesMax = 4 * 1024 * 1024;
const decoder = new TextDecoder();
const unpack = promisify(gunzip);

/** Records the object of a write. Its names are recorded at every level. */
export function takeRequestObject(event: AuditEvent, object: AnyObject, holding: Holding): void {
  const { namespace, name, uid, resourceVersion } = object.metadata ?? {};
  event.names ??= { namespace, name, uid, resourceVersion };
  takeRequestBody(event, object, holding);
}

/** Records a patch or options, which have no names. */
export function takeRequestBody(event: AuditEvent, value: unknown, holding: Holding): void {
  if (!hasRequest(event)) return;
  const shown = isRecord(value) ? withoutManagers(value, event) : value;
  // Raw fields keep their own spelling.
  const text = isRecord(shown) ? objectText(shown) : JSON.stringify(shown);
  if (text.length <= bodyBytesMax && holding.take("object", text.length))
    event.requestObject = text;
  else event.annotate(truncatedAnnotation, "true");
}

function hasRequest({ config: { level } }: AuditEvent): boolean {
  return level === "Request" || level === "RequestResponse";
}

/** Records the answer, if the level requires it and the answer is an object. */
export async function takeResponse(
  event: AuditEvent,
  response: PlainResponse,
  holding: Holding,
): Promise<void> {
  if (event.config.level !== "RequestResponse") return;
  if (response.kind === "object") {
    event.responseObject = JSON.stringify(withoutManagers(response.object as Fields, event)); // plain data
    return;
  }
  const type = mediaType(response);
  if (response.kind !== "bytes" || !objectTypes.has(type) || !isOfApi(event)) return;
  const bytes = bodyBytes(response.body);
  const text =
    bytes <= bodyBytesMax && holding.take("answer", 2 * bytes)
      ? await responseText(response, type, event).catch(() => undefined)
      : undefined;
  if (text === undefined) event.annotate(truncatedAnnotation, "true");
  else event.responseObject = text;
}

/** Whether the path is that of a resource or of discovery; a proxied answer is that of another server. */
function isOfApi({ facts: { info } }: AuditEvent): boolean {
  if (info.isResourceRequest) return info.subresource !== "proxy" && info.verb !== "proxy";
  return /^\/apis?(\/|$)/.test(info.path);
}

/** Whether an answer is an object or a Status, not a text or a stream of a container. */
export function isObjectAnswer(response: PlainResponse): boolean {
  return response.kind === "object" || objectTypes.has(mediaType(response));
}

const objectTypes = new Set(["application/json", "application/yaml", protobufType]);

function mediaType({ headers }: PlainResponse): string {
  const type = headers["content-type"];
  return (typeof type === "string" ? type : "").split(";", 1)[0] ?? "";
}

async function responseText(
  { body, headers }: Extract<PlainResponse, { kind: "bytes" }>,
  type: string,
  event: AuditEvent,
): Promise<string> {
  const sent = body.length === 1 ? (body[0] ?? new Uint8Array(0)) : Buffer.concat(body);
  const isPacked = headers["content-encoding"] === "gzip";
  const bytes = isPacked ? await unpack(sent, { maxOutputLength: bodyBytesMax }) : sent;
  if (type === protobufType) return JSON.stringify(withoutManagers(decoded(bytes), event));
  const text = decoder.decode(bytes).trimEnd();
  if (type === "application/yaml")
    return JSON.stringify(withoutManagers(parse(text) as Fields, event)); // our own answer
  const isLine = !text.includes("\n");
  if (isLine && !(event.config.omitManagedFields && text.includes('"managedFields"'))) return text;
  return JSON.stringify(withoutManagers(JSON.parse(text) as Fields, event)); // our own answer
}

type Fields = Readonly<Record<string, unknown>>;

function decoded(bytes: Uint8Array): Fields {
  const { apiVersion, kind, raw } = readEnvelope(bytes);
  const gv = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  return { kind, apiVersion, ...decodeProtobuf({ ...gv, kind }, raw) };
}

/** Removes managedFields from an object, a list's items, and a table's rows, if the policy omits them. */
function withoutManagers(object: Fields, { config }: AuditEvent): Fields {
  if (!config.omitManagedFields) return object;
  const { items, rows } = object;
  const bare = bareObject(object);
  if (Array.isArray(items)) return { ...bare, items: items.map(bareObject) };
  if (!Array.isArray(rows)) return bare;
  const bareRow = (row: unknown): unknown =>
    isRecord(row) ? { ...row, object: bareObject(row["object"]) } : row;
  return { ...bare, rows: rows.map(bareRow) };
}

function bareObject<T>(object: T): T {
  if (!isRecord(object) || !isRecord(object["metadata"])) return object;
  const { managedFields, ...metadata } = object["metadata"];
  return managedFields === undefined ? object : { ...object, metadata };
}
