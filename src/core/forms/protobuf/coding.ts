/**
 * Protobuf for clients: answers, watch frames and bodies. It implements `#client/object-coding.ts`.
 *
 * Holds  fields that the schema of this version does not know are left out and reported, each once. An object that has
 *        such a field is not encoded, so its sender uses JSON.
 * Bounds by bytes: the caller has limited them.
 */
import { Buffer } from "node:buffer";
import { type AnyObject, parseApiVersion } from "#api/object.ts";
import { checkFields } from "#api/schema/decode.ts";
import { listMetaDefinition, objectMetaDefinition, schemaOfKind } from "#api/schema/schema.ts";
import { ProtobufCursor } from "#wire/protobuf-cursor.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { decodeDefinition, type DecodeOptions } from "./decode.ts";
import { objectBytes, type TypeMeta } from "./envelope.ts";
import { canBeLazy, LazyForm } from "./lazy-object.ts";
import { hasNumbers } from "./numbered-fields.ts";
import { SharedJson } from "./shared-json.ts";

const mediaType = "application/vnd.kubernetes.protobuf";
const magic = Buffer.from("k8s\0", "latin1");
const partialKinds = new Set(["PartialObjectMetadata", "PartialObjectMetadataList"]);
/** Maximum reported fields, because a server may invent any number. */
const reportedMax = 100;

/** Called once per field; `definition` is the name of the message. */
type ReportUnknown = (definition: string, number: number) => void;

interface Frame {
  readonly type: string;
  readonly object: AnyObject;
}

/** A message and its type, within the current bytes. */
interface Found {
  apiVersion: string;
  kind: string;
  start: number;
  end: number;
}

export class ProtobufCoding {
  readonly mediaType = mediaType;
  readonly #cursor = new ProtobufCursor();
  readonly #options: DecodeOptions;
  readonly #lazyForms = new Map<string, LazyForm | undefined>();
  #lastType: TypeMeta = { apiVersion: "", kind: "" };
  #lastForm: LazyForm | undefined;

  constructor(unknownField: ReportUnknown) {
    const json = new SharedJson();
    this.#options = {
      fieldsMax: Number.POSITIVE_INFINITY,
      keysMax: Number.POSITIVE_INFINITY,
      parseJson: (text) => json.parse(text),
      unknownField: once(unknownField),
    };
  }

  /** Decodes an object, a list or a Status. `isLazy`: objects are read-only and decoded when read. */
  decode(body: Uint8Array, isLazy: boolean): AnyObject {
    this.#cursor.open(body);
    const found = this.#envelope(0, body.length);
    const definition = definitionOf(found);
    const isList = isListOfObjects(found, definition);
    const object = isList ? this.#list(found, isLazy) : this.#object(found, isLazy, false);
    this.#cursor.close();
    return object;
  }

  /**
   * Decodes a watch's frame without its length: WatchEvent{1: type, 2: RawExtension{1: object}}. `isFirstState`: the
   * frame belongs to the state that a list or a watch begins with, all of which is kept.
   */
  event(frame: Uint8Array, isLazy: boolean, isFirstState: boolean): Frame {
    const cursor = this.#cursor;
    cursor.open(frame);
    let type = "";
    let found: Found | undefined;
    while (cursor.next(frame.length)) {
      if (cursor.number === 1) type = cursor.text();
      else if (cursor.number === 2) found = this.#extension();
    }
    if (found === undefined) throw new ProtobufError("watch frame holds no object");
    const object = this.#object(found, isLazy && type !== "ERROR", isFirstState);
    cursor.close();
    return { type, object };
  }

  /** Undefined: the object's kind has no message, or the object contains more than its message can hold. */
  encode(object: object): Uint8Array | undefined {
    const { apiVersion = "", kind = "" } = object as AnyObject; // as a client's caller has it
    const gv = parseApiVersion(apiVersion);
    const schema = gv === undefined ? undefined : schemaOfKind({ ...gv, kind });
    if (schema === undefined || !hasNumbers(schema.name)) return undefined;
    const checked = checkFields(object, schema);
    if (checked.kind !== "ok" || checked.unknownFields.length > 0) return undefined;
    try {
      return objectBytes(checked.object);
    } catch (error) {
      if (error instanceof ProtobufError) return undefined;
      throw error;
    }
  }

  #extension(): Found | undefined {
    const cursor = this.#cursor;
    const { end } = cursor;
    let found: Found | undefined;
    cursor.at = cursor.start;
    while (cursor.next(end)) {
      if (cursor.number !== 1) continue;
      const after = cursor.at;
      found = this.#envelope(cursor.start, cursor.end);
      cursor.at = after;
    }
    return found;
  }

  /** "k8s\0" Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: message, 3: encoding} */
  #envelope(start: number, end: number): Found {
    const cursor = this.#cursor;
    const { bytes } = cursor;
    if (end - start < magic.length || magic.compare(bytes, start, start + magic.length) !== 0) {
      throw new ProtobufError("provided data does not appear to be a protobuf message");
    }
    const found = { apiVersion: "", kind: "", start: end, end };
    cursor.at = start + magic.length;
    while (cursor.next(end)) {
      if (cursor.number === 1) this.#typeMeta(found);
      else if (cursor.number === 2) {
        found.start = cursor.start;
        found.end = cursor.end;
      } else if (cursor.number === 3 && cursor.start < cursor.end) {
        throw new ProtobufError(`unknown content encoding ${cursor.text()}`);
      }
    }
    return found;
  }

  #typeMeta(found: Found): void {
    const cursor = this.#cursor;
    const { end } = cursor;
    cursor.at = cursor.start;
    while (cursor.next(end)) {
      if (cursor.number === 1) found.apiVersion = cursor.text();
      else if (cursor.number === 2) found.kind = cursor.text();
    }
  }

  #list(found: Found, isLazy: boolean): AnyObject {
    const cursor = this.#cursor;
    const { bytes } = cursor;
    const { apiVersion, kind, end } = found;
    const item: Found = { apiVersion, kind: kind.slice(0, -4), start: 0, end: 0 };
    const items: AnyObject[] = [];
    let metadata = {};
    cursor.at = found.start;
    while (cursor.next(end)) {
      item.start = cursor.start;
      item.end = cursor.end;
      if (cursor.number === 1) metadata = this.#message(listMetaDefinition, bytes, item, {});
      else if (cursor.number === 2) items.push(this.#object(item, isLazy, true));
    }
    return { apiVersion, kind, metadata, items } as AnyObject; // as its definition says
  }

  /** Restores the cursor. */
  #object(found: Found, isLazy: boolean, isFirstState: boolean): AnyObject {
    const { bytes } = this.#cursor;
    const { start, end } = found;
    const form = isLazy ? this.#lazyForm(found) : undefined;
    if (form !== undefined) return form.object({ bytes, start, end }, isFirstState);
    const { apiVersion, kind } = found;
    if (isPartial(found)) {
      const metadata = this.#partialMetadata(found);
      return { apiVersion, kind, metadata };
    }
    return this.#message(definitionOf(found), bytes, found, { apiVersion, kind });
  }

  #message(definition: string, bytes: Buffer, { start, end }: Found, into: object): AnyObject {
    const bag = into as Record<string, unknown>; // given by the callers above
    return decodeDefinition(definition, bytes.subarray(start, end), bag, this.#options);
  }

  /** PartialObjectMetadata has no definition: {1: metadata}. */
  #partialMetadata({ start, end }: Found): object {
    const partial = new ProtobufCursor();
    const { bytes } = this.#cursor;
    partial.open(bytes);
    partial.at = start;
    let metadata = {};
    while (partial.next(end)) {
      if (partial.number !== 1) continue;
      const inner = { apiVersion: "", kind: "", start: partial.start, end: partial.end };
      metadata = this.#message(objectMetaDefinition, bytes, inner, {});
    }
    return metadata;
  }

  /** Undefined: objects of this kind are decoded immediately. */
  #lazyForm({ apiVersion, kind }: TypeMeta): LazyForm | undefined {
    // A list or watch has one kind, so the last form is cached; building its key for each object would be expensive.
    if (apiVersion === this.#lastType.apiVersion && kind === this.#lastType.kind) {
      return this.#lastForm;
    }
    this.#lastForm = this.#knownForm({ apiVersion, kind });
    this.#lastType = { apiVersion, kind };
    return this.#lastForm;
  }

  #knownForm(type: TypeMeta): LazyForm | undefined {
    const key = `${type.apiVersion} ${type.kind}`;
    const known = this.#lazyForms.get(key);
    if (known !== undefined || this.#lazyForms.has(key)) return known;
    const definition = definitionOf(type);
    const isLazy = definition !== "" && canBeLazy(definition);
    const form = isLazy ? new LazyForm(type, definition, this.#options) : undefined;
    this.#lazyForms.set(key, form);
    return form;
  }
}

/** Throws ProtobufError for a kind unknown to this version. */
function definitionOf({ apiVersion, kind }: TypeMeta): string {
  const gv = parseApiVersion(apiVersion);
  const schema = gv === undefined ? undefined : schemaOfKind({ ...gv, kind });
  if (schema !== undefined && hasNumbers(schema.name)) return schema.name;
  if (isPartial({ apiVersion, kind })) return "";
  throw new ProtobufError(`no protobuf message of ${apiVersion} ${kind} is known`);
}

function isPartial({ apiVersion, kind }: TypeMeta): boolean {
  return apiVersion === "meta.k8s.io/v1" && partialKinds.has(kind);
}

/** Whether it is a list of objects; lists of discovery contain no objects. */
function isListOfObjects(type: TypeMeta, definition: string): boolean {
  if (!type.kind.endsWith("List")) return false;
  if (definition === "") return true;
  const gv = parseApiVersion(type.apiVersion);
  const item = gv && schemaOfKind({ ...gv, kind: type.kind.slice(0, -4) });
  return item !== undefined && hasNumbers(item.name);
}

function once(report: ReportUnknown): ReportUnknown {
  const reported = new Set<string>();
  return (definition, number) => {
    const key = `${definition} ${number}`;
    if (reported.size >= reportedMax || reported.has(key)) return;
    reported.add(key);
    report(definition, number);
  };
}
