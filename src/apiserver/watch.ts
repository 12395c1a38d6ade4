/**
 * WATCH: joins a registry watch to the stream the rim opens, in the form that was negotiated.
 *
 * A start below history is HTTP 200 with one ERROR event holding the 410, as upstream; a
 * resourceVersion that makes no sense is refused before the stream begins.
 */
import type { AnyObject } from "#api/object.ts";
import { type FieldSelector, parseFieldSelector } from "#api/field-selector.ts";
import { failure } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { type Negotiated, notAcceptable } from "#server/negotiate.ts";
import { isExpired, jsonFormat, plainFrame, type WatchFormat } from "#server/watch-frames.ts";
import { toStatus } from "#server/status.ts";
import { WatchStream } from "#server/watch-stream.ts";
import type { CachedObject } from "#watch/cached-object.ts";
import { contentHeaders, formFor } from "./answer.ts";
import type { ApiDeps } from "./deps.ts";
import { namespaceOf } from "./get.ts";
import { listQuery, type ListQuery } from "./list-options.ts";
import type { StoredKind } from "./stored-kind.ts";
import { type IncludeObject, includeObject, partial, table, tableRow } from "./table.ts";

export async function watchObjects(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  if (form.mediaType !== "application/json") throw notAcceptable(["application/json"]);
  const query = listQuery(kind.info, context.query, true, kind.selectableFields);
  const stream = watchStream(deps, kind, query);
  await attach(context, kind, query, stream);
  if (context.request.peer.kind === "direct") return stream.eventResponse();
  return stream.byteResponse(formatOf(deps, context, kind, form), contentHeaders(form));
}

async function attach(
  context: RequestContext,
  kind: StoredKind,
  query: ListQuery,
  stream: WatchStream,
): Promise<void> {
  const namespace = namespaceOf(kind, context.info.namespace);
  const fields = pinned(query.fields, context.info.pathName);
  const options = {
    ...(query.labels === undefined ? {} : { labels: query.labels }),
    ...(fields === undefined ? {} : { fields }),
    resourceVersion: query.resourceVersion,
    ...(query.sendInitialEvents === undefined
      ? {}
      : { sendInitialEvents: query.sendInitialEvents }),
    allowBookmarks: query.allowWatchBookmarks,
  };
  try {
    stream.attach(await kind.store.watch(namespace, options, stream));
  } catch (error) {
    if (!isExpired(error)) throw error;
    stream.end(error);
  }
}

/** `/watch/pods/x`: the name in the path is one more condition. */
function pinned(fields: FieldSelector | undefined, name: string): FieldSelector | undefined {
  if (name === "") return fields;
  const byName = parseFieldSelector(`metadata.name=${name}`);
  return { requirements: [...(fields?.requirements ?? []), ...byName.requirements] };
}

function watchStream(deps: ApiDeps, kind: StoredKind, query: ListQuery): WatchStream {
  const { group, version, kind: name } = kind.info;
  const labels = [group, version, name];
  const min = deps.limits.watchMsMin;
  const asked = query.timeoutSeconds ?? 0;
  const timeoutMs = asked > 0 ? asked * 1000 : min + deps.random.below(min);
  return new WatchStream(
    {
      clock: deps.clock,
      joiner: deps.joiner,
      open: deps.streams,
      sent: (events, bytes) => {
        deps.metrics.watchEvents.add(labels, events);
        deps.metrics.watchEventBytes.add(labels, bytes);
      },
    },
    {
      apiVersion: kind.apiVersion,
      kind: name,
      timeoutMs,
      allowBookmarks: query.allowWatchBookmarks,
      convert: (object) => kind.fromStored(object),
    },
  );
}

function formatOf(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  form: Negotiated,
): WatchFormat {
  const wanted = form.transform;
  switch (wanted?.kind) {
    case undefined:
      return objectFormat(kind);
    case "Table":
      return tableFormat(deps, kind, wanted?.version ?? "v1", includeObject(context.query));
    case "PartialObjectMetadata":
    case "PartialObjectMetadataList":
      return metadataFormat(wanted?.version ?? "v1");
    default:
      throw failure(406, "NotAcceptable", "unknown transform");
  }
}

function objectFormat(kind: StoredKind): WatchFormat {
  if (kind.apiVersion === kind.storedApiVersion) return jsonFormat("json", (cached) => cached.json);
  return jsonFormat(kind.apiVersion, (cached) => encode(kind.fromStored(cached.object)));
}

function metadataFormat(version: "v1" | "v1beta1"): WatchFormat {
  const show = (object: AnyObject): AnyObject => partial(object, version) as AnyObject; // an object with metadata
  return jsonFormat(`pom.${version}`, (cached) => encode(show(cached.object)), show);
}

const encoder = new TextEncoder();

function encode(object: object): Uint8Array {
  return encoder.encode(JSON.stringify(object));
}

interface MadeRow {
  readonly second: number;
  readonly frame: Uint8Array;
}

/** Rows hold ages, so a frame is shared only among watchers of the same second. */
const madeRows = new WeakMap<CachedObject, Map<string, MadeRow>>();

/** Columns go out with the first event only. */
function tableFormat(
  deps: ApiDeps,
  kind: StoredKind,
  version: "v1" | "v1beta1",
  include: IncludeObject,
): WatchFormat {
  const key = `table.${kind.apiVersion}.${version}.${include}`;
  let first = true;
  const show = (object: AnyObject, columns: boolean): object => {
    const { resourceVersion = "" } = object.metadata ?? {};
    const row = tableRow(kind, kind.fromStored(object), include);
    return table(kind, version, { resourceVersion }, [row], columns);
  };
  return {
    key,
    event: (type, cached) => {
      if (first) {
        first = false;
        return plainFrame(type, show(cached.object, true));
      }
      const second = Math.floor(deps.clock.nowMs() / 1000);
      return madeRow(cached, `${key}.${type}`, second, () =>
        plainFrame(type, show(cached.object, false)),
      );
    },
    bookmark: (object) => {
      const { resourceVersion = "" } = object.metadata ?? {};
      const row = { cells: [], object: partial(object, version) };
      return plainFrame("BOOKMARK", table(kind, version, { resourceVersion }, [row], false));
    },
    error: (error) => plainFrame("ERROR", toStatus(error)),
  };
}

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
