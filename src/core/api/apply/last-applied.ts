/**
 * Moves from client-side to server-side apply: kubectl's annotation of its last applied configuration shows
 * which conflicts are with kubectl's own earlier writes. The annotation is kept up to date while it exists.
 */
import { parseExactJson } from "#base/exact-json.ts";
import { isJsonObject } from "../json/json-value.ts";
import type { MutableJson } from "../json/json-value.ts";
import type { AnyObject } from "../object.ts";
import { compareValues } from "./compare.ts";
import { difference, emptySet } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import type { Typed } from "./updater.ts";
import { setOfValue } from "./value-set.ts";

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** The only manager for which the annotation is maintained; other clients opt out by another name. */
export const clientSideManager = "kubectl";
/** Maximum bytes of all annotations of an object; beyond it this annotation is dropped. */
const annotationBytesMax = 256 * 1024;

/** The fields that kubectl last applied and that still have that value in the live object. */
export function lastAppliedFields(live: Typed): FieldSet {
  const value = lastApplied(live);
  if (value === undefined) return emptySet;
  const { added, modified, removed } = compareValues(value, live.value, live.shape);
  const fields = setOfValue(value, live.shape);
  return [added, modified, removed].reduce(difference, fields);
}

function lastApplied(live: Typed): MutableJson | undefined {
  const metadata = live.value["metadata"];
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  const text = isJsonObject(annotations) ? annotations[lastAppliedAnnotation] : undefined;
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = parseExactJson(text);
    const same = isJsonObject(value) && value["apiVersion"] === live.apiVersion;
    return same ? value : undefined;
  } catch {
    return undefined; // the annotation is the client's; one that is no JSON permits nothing
  }
}

/** `object` with the annotation updated, if `live` has one. */
export function withLastApplied(
  object: AnyObject,
  live: AnyObject | undefined,
  applied: AnyObject,
): AnyObject {
  if (live?.metadata?.annotations?.[lastAppliedAnnotation] === undefined) return object;
  const { [lastAppliedAnnotation]: _, ...others } = object.metadata?.annotations ?? {};
  const renewed = { ...others, [lastAppliedAnnotation]: `${lastAppliedText(applied)}\n` };
  const annotations = annotationBytes(renewed) > annotationBytesMax ? others : renewed;
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** What was applied, without the annotation itself and without managed fields. */
function lastAppliedText(applied: AnyObject): string {
  const { managedFields: _, annotations, ...metadata } = applied.metadata ?? {};
  const { [lastAppliedAnnotation]: __, ...others } = annotations ?? {};
  const kept = annotations === undefined ? metadata : { ...metadata, annotations: others };
  return JSON.stringify({ ...applied, metadata: kept });
}

function annotationBytes(annotations: Readonly<Record<string, string>>): number {
  const text = Object.entries(annotations).flat().join("");
  return new TextEncoder().encode(text).byteLength;
}
