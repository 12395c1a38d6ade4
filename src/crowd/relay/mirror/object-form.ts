/**
 * Upstream's bytes of an object, in the form the watch cache keeps: apiVersion, kind and metadata
 * first, resourceVersion removed, everything else unchanged.
 *
 *   from a list     {"metadata":{"name":"a","resourceVersion":"7"},"spec":{...}}
 *   from a watch    {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"},"spec":{...}}
 *   kept, of both   {"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{...}}
 *
 * So two replicas keep the same bytes of an object from a list and from a watch, and digests agree.
 */
import { concatBytes } from "#base/bytes.ts";
import { keyOfText } from "#forms/shared-object.ts";
import { members, textOf, type Member, type Span } from "./json-bytes.ts";
import type { MirroredKind } from "./mirrored-kind.ts";

export interface FormedObject {
  /** Key in the form of SharedObject.key. */
  readonly key: string;
  readonly revision: number;
  /** The object's JSON in an array of its own, not a part of a larger buffer. */
  readonly value: Uint8Array;
}

export type ToObject = (bytes: Uint8Array, span: Span) => FormedObject;

const encoder = new TextEncoder();
const metadataOpen = encoder.encode('"metadata":{');
const metadataClose = encoder.encode("}");
const objectClose = encoder.encode("}");
const comma = encoder.encode(",");
const ownMembers = new Set(["apiVersion", "kind", "metadata"]);

/** @throws SyntaxError for bytes other than an object with a name and a resourceVersion. */
export function objectForm(kind: MirroredKind): ToObject {
  const head = encoder.encode(
    `{"apiVersion":${JSON.stringify(kind.apiVersion)},"kind":${JSON.stringify(kind.kind)},`,
  );
  return (bytes, span) => {
    const all = members(bytes, span.start);
    const metadata = all.find((member) => member.key === "metadata");
    if (metadata === undefined) throw new SyntaxError("upstream's object has no metadata");
    const meta = members(bytes, metadata.value.start);
    const parts = [head, metadataOpen];
    const kept = meta.filter((member) => member.key !== "resourceVersion");
    pushMembers(parts, bytes, kept);
    parts.push(metadataClose);
    const rest = all.filter((member) => !ownMembers.has(member.key));
    if (rest.length > 0) parts.push(comma);
    pushMembers(parts, bytes, rest);
    parts.push(objectClose);
    return { ...identity(kind, bytes, meta), value: concatBytes(parts) };
  };
}

/** Returns the resourceVersion of the object in `span`; that of a BOOKMARK is its position. */
export function revisionOf(bytes: Uint8Array, span: Span): number {
  const metadata = members(bytes, span.start).find((member) => member.key === "metadata");
  const meta = metadata === undefined ? [] : members(bytes, metadata.value.start);
  return revision(field(bytes, meta, "resourceVersion"));
}

/** The resourceVersion is not a number, so watches cannot resume and states cannot be compared: the resource passes through. */
export class NoRevisionError extends SyntaxError {
  constructor(text: string) {
    super(`upstream's resourceVersion ${JSON.stringify(text)} is no number`);
    this.name = "NoRevisionError";
  }
}

/** Parses a resourceVersion that is a whole number, as all API servers give since 1.35 and nearly all before. */
export function revision(text: string): number {
  if (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new NoRevisionError(text);
}

function identity(
  kind: MirroredKind,
  bytes: Uint8Array,
  meta: readonly Member[],
): { key: string; revision: number } {
  const name = keyOfText(field(bytes, meta, "name"));
  if (name === "") throw new SyntaxError("upstream's object has no name");
  const key = kind.namespaced ? `${keyOfText(field(bytes, meta, "namespace"))}/${name}` : name;
  return { key, revision: revision(field(bytes, meta, "resourceVersion")) };
}

function field(bytes: Uint8Array, meta: readonly Member[], key: string): string {
  const member = meta.find((candidate) => candidate.key === key);
  return member === undefined ? "" : textOf(bytes, member.value);
}

/** Copies the members; adjacent ones are copied as one run. */
function pushMembers(parts: Uint8Array[], bytes: Uint8Array, list: readonly Member[]): void {
  let at = 0;
  while (at < list.length) {
    let last = at;
    while (last + 1 < list.length && adjacent(list[last], list[last + 1])) last++;
    if (at > 0) parts.push(comma);
    parts.push(bytes.subarray(list[at]?.whole.start, list[last]?.whole.end));
    at = last + 1;
  }
}

function adjacent(a: Member | undefined, b: Member | undefined): boolean {
  return a !== undefined && b !== undefined && a.whole.end + 1 === b.whole.start;
}
