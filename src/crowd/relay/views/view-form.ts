/**
 * How a view writes an object: whole, as chosen fields, or as lines of text.
 *
 *   objects   the upstream's bytes, in a list of the resource's kind
 *   fields    {"namespace":..,"name":..,"fields":{..}}, in a list of kind ViewList
 *   text      what the template prints, a line or several; blank is none; in the order of the texts
 *
 * Holds  a row is made of the object alone: the same bytes on every replica.
 */
import { chooseFields, type FieldRule } from "#api/json-path/field-rule.ts";
import {
  JsonPathError,
  type JsonPathTemplate,
  printTemplate,
  type PrintRules,
} from "#api/json-path/json-path.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { type SharedObject, keyOfText, textOfKey } from "#forms/shared-object.ts";
import { listHead } from "#forms/list-body.ts";
import { memberHash, textHash } from "./digest.ts";
import { listKindOf, type MirroredKind } from "../mirror/mirrored-kind.ts";
import type { Row } from "./row-blocks.ts";
import type { Frame } from "./view-content.ts";

export interface ViewForm {
  /** Key of the form in caches of encodings. */
  readonly key: string;
  readonly contentType: string;
  readonly frame: Frame;
  /** Returns the row of an object. Undefined, or JsonPathError: the object has no row here. */
  row(object: CachedObject): Row | undefined;
  /** Returns the JSON of the object in lists of changes and events, with its name. Undefined: it has no row here. */
  change(object: CachedObject): Uint8Array | undefined;
}

export const relayApiVersion = "relay.pilothouse.dev/v1";
const json = "application/json";
const encoder = new TextEncoder();
const comma = encoder.encode(",");
const nothing = new Uint8Array(0);
const tail = encoder.encode("]}\n");

/** Frame of rows that are lines. */
export const lineFrame: Frame = {
  head: nothing,
  separator: nothing,
  tail: nothing,
  blockRows: 256,
};

export function objectsForm(kind: MirroredKind): ViewForm {
  const head = listHead({ apiVersion: kind.apiVersion, kind: listKindOf(kind), metadata: {} });
  return {
    key: "whole",
    contentType: json,
    frame: { head: encoder.encode(head), separator: comma, tail, blockRows: 32 },
    row: (object) => new ObjectRow(object),
    change: (object) => object.json,
  };
}

export function fieldsForm(name: string, rules: readonly FieldRule[]): ViewForm {
  const write = (object: CachedObject): string =>
    JSON.stringify({ ...identity(object), fields: chooseFields(rules, object.object) });
  return {
    key: `view:${name}`,
    contentType: json,
    frame: listFrame({ name }),
    row: (object) => textRow(placeOf(object), write(object)),
    change: (object) => encoder.encode(write(object)),
  };
}

export function textForm(name: string, template: JsonPathTemplate, rules: PrintRules): ViewForm {
  const write = (object: CachedObject): string => {
    const text = printTemplate(template, object.object, rules);
    if (text.trim() === "") return "";
    return text.endsWith("\n") ? text : `${text}\n`;
  };
  return {
    key: `view:${name}`,
    contentType: "text/plain; charset=utf-8",
    frame: lineFrame,
    row(object) {
      const text = write(object);
      return text === "" ? undefined : textRow(`${text}\0${placeOf(object)}`, text);
    },
    change(object) {
      const text = unlessFailed(() => write(object)) ?? "";
      if (text === "") return undefined;
      return encoder.encode(JSON.stringify({ ...identity(object), text }));
    },
  };
}

/** Frame of rows that are JSON. */
export function listFrame(metadata: { readonly name: string }): Frame {
  const head = listHead({ apiVersion: relayApiVersion, kind: "ViewList", metadata });
  return { head: encoder.encode(head), separator: comma, tail, blockRows: 128 };
}

class ObjectRow implements Row {
  readonly place: string;
  readonly #object: CachedObject;

  constructor(object: CachedObject) {
    this.place = placeOf(object);
    this.#object = object;
  }

  get hash(): bigint {
    return memberHash(this.#object);
  }

  bytes(): Uint8Array {
    return this.#object.json;
  }
}

/** Makes a row of text. The text is kept: it is small compared with its object. */
export function textRow(place: string, text: string): Row {
  const bytes = encoder.encode(text);
  return { place, hash: textHash(place, text), bytes: () => bytes };
}

function unlessFailed<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

export function identity(object: CachedObject): object {
  const namespace = textOfKey(object.namespace);
  return namespace === "" ? { name: object.name } : { namespace, name: object.name };
}

/** Returns the place of an object in key order. Objects of a mirror have a key; those of other caches get theirs from the name. */
export function placeOf(object: CachedObject): string {
  const { key } = object as Partial<SharedObject>;
  if (key !== undefined) return key;
  const name = keyOfText(object.name);
  return object.namespace === "" ? name : `${object.namespace}/${name}`;
}
