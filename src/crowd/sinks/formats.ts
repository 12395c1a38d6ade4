/**
 * How an object is written into a sink: `cloudevents` (CloudEvents 1.0, structured JSON), `json` (the object
 * itself), `protobuf` (Kubernetes' own, of built-in kinds) or `deltas` (what changed: deltas.ts).
 *
 * Encoded once, when it is taken in; a projection replaces the object by the chosen fields.
 */
import { chooseFields, type FieldRule } from "#api/json-path/field-rule.ts";
import { concatBytes } from "#base/bytes.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";
import { resourcePath } from "#client/path.ts";
import { encodeProtobuf } from "#forms/protobuf/encode.ts";
import type { Deltas } from "./deltas.ts";
import type { RecordType } from "./sink-driver.ts";

export type SinkFormat = "cloudevents" | "json" | "protobuf" | "deltas";

export interface Encoding {
  readonly format: SinkFormat;
  /** The `source` of CloudEvents, which names the cluster. */
  readonly source: string;
  readonly ref: ResourceRef;
  readonly kind: string;
  /** Selected fields. Undefined: whole objects. */
  readonly fields: readonly FieldRule[] | undefined;
}

export interface Told {
  readonly type: RecordType;
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** Undefined for marks, and for a deletion that was found by comparison with a list. */
  readonly object: AnyObject | undefined;
  /** JSON of the object, if available; borrowed until `encodeTold` returns. */
  readonly json: Uint8Array | undefined;
}

const encoder = new TextEncoder();
const closed = encoder.encode("}");

export const contentTypes: Readonly<Record<SinkFormat, string>> = {
  cloudevents: "application/cloudevents+json",
  json: "application/json",
  protobuf: "application/vnd.kubernetes.protobuf",
  deltas: "application/json",
};

export const eventTypes: Readonly<Record<RecordType, string>> = {
  ADDED: "dev.pilothouse.object.added",
  MODIFIED: "dev.pilothouse.object.modified",
  DELETED: "dev.pilothouse.object.deleted",
  SNAPSHOT_BEGIN: "dev.pilothouse.snapshot.begin",
  SNAPSHOT_END: "dev.pilothouse.snapshot.end",
  POSITION: "dev.pilothouse.position",
};

/**
 * Undefined where the format has nothing to say beyond the record's own fields: marks and deletions.
 * `deltas` keeps the states that this source told before.
 */
export function encodeTold(encoding: Encoding, told: Told, deltas: Deltas): Uint8Array | undefined {
  if (encoding.format === "cloudevents") return cloudEvent(encoding, told);
  const { type, object } = told;
  if (encoding.format === "deltas" && told.name !== "") return delta(encoding, told, deltas);
  if (object === undefined || type === "DELETED") return undefined;
  if (encoding.format === "json") return dataOf(encoding, object, told.json).slice();
  const { group, version } = encoding.ref;
  return encodeProtobuf({ group, version, kind: encoding.kind }, object);
}

function cloudEvent(encoding: Encoding, told: Told): Uint8Array {
  const { ref, source } = encoding;
  const { type, id, namespace, name, resourceVersion, object } = told;
  const subject = resourcePath(ref, namespace, name, "");
  const attributes = {
    specversion: "1.0",
    id,
    source,
    type: eventTypes[type],
    subject,
    resourceversion: resourceVersion,
  };
  const head = JSON.stringify(attributes);
  if (object === undefined) return encoder.encode(head);
  const opened = encoder.encode(
    `${head.slice(0, -1)},"datacontenttype":"application/json","data":`,
  );
  return concatBytes([opened, dataOf(encoding, object, told.json), closed]);
}

function delta(encoding: Encoding, told: Told, deltas: Deltas): Uint8Array | undefined {
  const { type, object, namespace, name, resourceVersion } = told;
  const key = `${namespace}/${name}`;
  if (type !== "DELETED" && object !== undefined) {
    return deltas.encode(key, resourceVersion, shownOf(encoding, object) as JsonObject);
  }
  deltas.forget(key);
  return undefined;
}

/** Returns the JSON of the data; an unchanged object keeps the bytes in which it arrived. */
function dataOf(encoding: Encoding, object: AnyObject, json: Uint8Array | undefined): Uint8Array {
  if (encoding.fields === undefined && json !== undefined) return json;
  return encoder.encode(JSON.stringify(shownOf(encoding, object)));
}

function shownOf({ fields }: Encoding, object: AnyObject): unknown {
  if (fields === undefined) return object;
  const { namespace, name } = object.metadata ?? {};
  return { namespace, name, fields: chooseFields(fields, object) };
}
