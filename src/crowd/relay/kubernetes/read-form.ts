/**
 * The forms a read can take here: whole objects, metadata only, or tables of built-in kinds. Encodings
 * are made once per object and kept with it; rows of tables hold ages, so those are made per answer.
 */
import { toStatus } from "#api/status.ts";
import { partialObjectMetadata } from "#api/convert/convert.ts";
import type { AnyObject } from "#api/object.ts";
import { printBookmark } from "#api/printers/bookmark.ts";
import {
  bookmarkInclude,
  type IncludeObject,
  parseIncludeObject,
  tableFor,
  type TableOptions,
  tableRow,
  type TableRow,
} from "#api/printers/table.ts";
import type { Clock } from "#platform/clock.ts";
import { type ItemForm, madeForm, protobufForm, storedForm } from "#forms/list-body.ts";
import { type MediaType, type Negotiated, protobufType } from "#forms/negotiate.ts";
import { hasProtobufForm, objectOfEntry, type TypeMeta } from "#forms/protobuf/envelope.ts";
import { jsonFormat, plainFrame, protobufFormat, type WatchFormat } from "#forms/watch-frames.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";

type MetaVersion = NonNullable<Negotiated["transform"]>["version"];

const encoder = new TextEncoder();

/** Whole objects with apiVersion and kind: for single objects, and for list items of custom resources. */
const wholeForm: ItemForm = {
  key: "json",
  layout: "json",
  bytes: (object) => object.json,
};

/** Form of an answer. Undefined: the relay cannot produce this form of this resource. */
export type ReadForm =
  | { readonly kind: "objects"; readonly item: ItemForm; readonly contentType: MediaType }
  | {
      readonly kind: "metadata";
      readonly item: ItemForm;
      /** Content type of whole bodies; that of a watch may have an additional parameter. */
      readonly contentType: MediaType;
      readonly version: MetaVersion;
    }
  | {
      readonly kind: "table";
      readonly contentType: MediaType;
      readonly version: MetaVersion;
      readonly include: IncludeObject;
    };

export function readForm(
  resource: Mirrored,
  form: Negotiated,
  query: URLSearchParams,
): ReadForm | undefined {
  const wanted = form.transform;
  const contentType = form.mediaType;
  const binary = contentType === protobufType;
  if (wanted === undefined) {
    return { kind: "objects", item: binary ? binaryForm(resource.kind) : wholeForm, contentType };
  }
  const { version } = wanted;
  if (wanted.kind === "Table") {
    const include = parseIncludeObject(query.get("includeObject") ?? "");
    if (include === undefined || resource.printer === undefined) return undefined;
    return { kind: "table", contentType, version, include };
  }
  const item = binary
    ? protobufForm(`pb.pom.${version}`, metadataType(version), ({ object }) =>
        partial(object, version),
      )
    : madeForm(`pom.${version}`, ({ object }) => partial(object, version));
  return { kind: "metadata", item, contentType, version };
}

/** Returns the form of list items. For built-in kinds it omits apiVersion and kind, which the list states once, as upstream. */
export function listItem({ kind }: Mirrored, form: Exclude<ReadForm, { kind: "table" }>): ItemForm {
  const isPlain = form.kind === "objects" && form.item.layout === "json";
  return isPlain && hasProtobufForm(kind) ? storedForm(kind.apiVersion, kind.kind) : form.item;
}

/** Returns the protobuf form of whole objects of `kind`. */
function binaryForm(kind: MirroredKind): ItemForm {
  return protobufForm("pb", kind, ({ object }) => object);
}

/** Returns one object as the whole body of an answer. */
export function oneBody(
  resource: Mirrored,
  form: Exclude<ReadForm, { kind: "table" }>,
  cached: SharedObject,
): Uint8Array {
  const bytes = form.item.bytes(cached);
  if (form.item.layout === "json") return line(bytes);
  const type = form.kind === "metadata" ? metadataType(form.version) : resource.kind;
  return objectOfEntry(type, bytes);
}

/** Appends a line end, as upstream does to every JSON body. */
function line(json: Uint8Array): Uint8Array {
  const out = new Uint8Array(json.length + 1);
  out.set(json);
  out[json.length] = 0x0a;
  return out;
}

function metadataType(version: MetaVersion): TypeMeta {
  return { apiVersion: `meta.k8s.io/${version}`, kind: "PartialObjectMetadata" };
}

export function table(
  resource: Mirrored,
  form: Extract<ReadForm, { kind: "table" }>,
  objects: readonly AnyObject[],
  options: Omit<TableOptions, "apiVersion" | "includeObject">,
): object {
  if (resource.printer === undefined) throw new TypeError("a table without a printer");
  const apiVersion = `meta.k8s.io/${form.version}` as const;
  return tableFor(resource.printer, objects, {
    ...options,
    includeObject: form.include,
    apiVersion,
  });
}

/** Returns a function that makes the row of an object in such a table. */
export function rowMaker(
  resource: Mirrored,
  form: Extract<ReadForm, { kind: "table" }>,
  nowMs: number,
): (object: AnyObject) => TableRow {
  const { printer } = resource;
  if (printer === undefined) throw new TypeError("a row without a printer");
  const apiVersion = `meta.k8s.io/${form.version}` as const;
  const options = { nowMs, includeObject: form.include, apiVersion };
  return (object) => tableRow(printer, object, options);
}

export function encode(value: unknown): Uint8Array {
  return encoder.encode(`${JSON.stringify(value)}\n`);
}

function partial(object: AnyObject, version: MetaVersion): AnyObject {
  return { ...partialObjectMetadata(object, `meta.k8s.io/${version}`) };
}

/** Formats shared by many watches, which saves hundreds of bytes per idle watch. */
const wholeJson = jsonFormat("json", (cached) => cached.json);
const wholeBinary = new WeakMap<MirroredKind, WatchFormat>();

function binaryFormat(kind: MirroredKind): WatchFormat {
  let format = wholeBinary.get(kind);
  if (format === undefined) {
    format = protobufFormat("pb", kind, ({ object }) => object);
    wholeBinary.set(kind, format);
  }
  return format;
}

export function watchFormat(clock: Clock, resource: Mirrored, form: ReadForm): WatchFormat {
  switch (form.kind) {
    case "objects":
      return form.contentType === protobufType ? binaryFormat(resource.kind) : wholeJson;
    case "metadata": {
      const { item, version } = form;
      if (form.contentType === protobufType) {
        return protobufFormat(`pb.pom.${version}`, metadataType(version), ({ object }) =>
          partial(object, version),
        );
      }
      return jsonFormat(
        `pom.${version}`,
        (cached) => item.bytes(cached),
        (o) => partial(o, version),
      );
    }
    case "table":
      return tableFormat(clock, resource, form);
    default:
      return form satisfies never;
  }
}

/** Only the first event of a stream contains the columns, so each stream has a format of its own. */
function tableFormat(
  clock: Clock,
  resource: Mirrored,
  form: Extract<ReadForm, { kind: "table" }>,
): WatchFormat {
  let withColumns = true;
  const show = (object: AnyObject, include = form.include): object => {
    const { resourceVersion = "" } = object.metadata ?? {};
    const options = { nowMs: clock.nowMs(), resourceVersion, withColumns };
    withColumns = false;
    return table(resource, { ...form, include }, [object], options);
  };
  return {
    key: `table.${form.version}.${form.include}`,
    event: (type, cached) => plainFrame(type, show(cached.object)),
    bookmark: (object) => {
      const { group, resource: plural } = resource.kind;
      const printed = printBookmark(group, plural, object);
      return plainFrame("BOOKMARK", show(printed, bookmarkInclude(form.include, object)));
    },
    error: (error) => plainFrame("ERROR", toStatus(error)),
  };
}
