/**
 * Encodes the events of one watch: whole objects, metadata, or tables. Frames of the first two are made once per object
 * and kept with it. Rows of a table contain ages, so they are kept for a second.
 */
import { toStatus } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import { printBookmark } from "#api/printers/bookmark.ts";
import { bookmarkInclude } from "#api/printers/table.ts";
import type { Clock } from "#platform/clock.ts";
import type { RequestContext } from "#server/context.ts";
import { type Negotiated, protobufType } from "#forms/negotiate.ts";
import { jsonFormat, plainFrame, protobufFormat, type WatchFormat } from "#forms/watch-frames.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { StoredKind } from "./stored-kind.ts";
import {
  includeObject,
  metadataKey,
  metadataType,
  type MetaVersion,
  partial,
  partialOf,
  tableOf,
} from "./table.ts";

export function watchFormat(
  clock: Clock,
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
): WatchFormat {
  const wanted = form.transform;
  const binary = form.mediaType === protobufType;
  if (wanted === undefined) return binary ? binaryFormat(kind) : objectFormat(kind);
  if (wanted.kind !== "Table") return metadataFormat(kind, wanted.version, binary);
  return tableFormat(clock, context, kind, wanted.version);
}

function objectFormat(kind: StoredKind): WatchFormat {
  return jsonFormat(kind.formKey, (cached) => kind.json(cached));
}

function binaryFormat(kind: StoredKind): WatchFormat {
  const { apiVersion } = kind;
  const type = { apiVersion, kind: kind.resource.kind };
  return protobufFormat(`pb.${apiVersion}`, type, (cached) => kind.show(cached));
}

function metadataFormat(kind: StoredKind, version: MetaVersion, binary: boolean): WatchFormat {
  const key = metadataKey(kind, version);
  const show = (object: AnyObject): AnyObject => partial(object, version);
  if (binary)
    return protobufFormat(`pb.${key}`, metadataType(version), (cached) =>
      partialOf(kind, cached, version),
    );
  return jsonFormat(key, (cached) => encode(partialOf(kind, cached, version)), show);
}

const encoder = new TextEncoder();

function encode(object: object): Uint8Array {
  return encoder.encode(JSON.stringify(object));
}

/** Format of tables. Only the first event has the columns, so each stream has its own format. */
function tableFormat(
  clock: Clock,
  context: RequestContext,
  kind: StoredKind,
  version: MetaVersion,
): WatchFormat {
  const include = includeObject(context.query);
  const key = `table.${kind.formKey}.${version}.${include}`;
  let withColumns = true;
  const show = (object: AnyObject, nowMs: number, shown = include): object => {
    const { resourceVersion = "" } = object.metadata ?? {};
    const options = { includeObject: shown, nowMs, resourceVersion, withColumns };
    withColumns = false;
    return tableOf(kind, version, [object], options);
  };
  return {
    key,
    event: (type, cached) => {
      const nowMs = clock.nowMs();
      const second = Math.floor(nowMs / 1000);
      const make = (): Uint8Array => plainFrame(type, show(kind.show(cached), nowMs));
      if (!withColumns) return madeRow(cached, `${key}.${type}`, second, make);
      const frame = firstRow({ cached, name: `${key}.${type}`, second }, make);
      withColumns = false;
      return frame;
    },
    bookmark: (object) => {
      const printed = printBookmark(kind.resource.group, kind.resource.resource, object);
      return plainFrame("BOOKMARK", show(printed, clock.nowMs(), bookmarkInclude(include, object)));
    },
    error: (error) => plainFrame("ERROR", toStatus(error)),
  };
}

interface FirstRow {
  readonly cached: CachedObject;
  readonly name: string;
  readonly second: number;
}

/**
 * The last first frame with columns; the definition's author decides how many columns it has. Streams that begin with
 * the same event share it. Only the last one is kept.
 */
let lastFirst: (FirstRow & { readonly frame: Uint8Array }) | undefined;

function firstRow(row: FirstRow, make: () => Uint8Array): Uint8Array {
  const { cached, name, second } = row;
  if (lastFirst?.cached === cached && lastFirst.name === name && lastFirst.second === second)
    return lastFirst.frame;
  lastFirst = { ...row, frame: make() };
  return lastFirst.frame;
}

interface MadeRow {
  readonly second: number;
  readonly frame: Uint8Array;
}

/** Frames by object, then by format and type: at most one frame each. */
const madeRows = new WeakMap<CachedObject, Map<string, MadeRow>>();

function madeRow(
  cached: CachedObject,
  key: string,
  second: number,
  make: () => Uint8Array,
): Uint8Array {
  const rows = madeRows.get(cached) ?? new Map<string, MadeRow>();
  madeRows.set(cached, rows);
  const known = rows.get(key);
  if (known?.second === second) return known.frame;
  const frame = make();
  rows.set(key, { second, frame });
  return frame;
}
