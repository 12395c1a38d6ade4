/**
 * WATCH: connects a registry watch to the stream that the rim opens, in the negotiated form.
 *
 * A start before the kept history gets HTTP 200 with one ERROR event that contains the 410, as in upstream. An invalid
 * resourceVersion is refused before the stream begins.
 */
import type { FieldSelector } from "#api/selectors/field-selector.ts";
import { badRequest } from "#api/status.ts";
import { given } from "#base/given.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { ResourceWatch, WatchOptions } from "#registry/resource-store.ts";
import type { RequestContext } from "#server/context.ts";
import { KeptSelectors } from "#server/kept-selectors.ts";
import { type Negotiated, protobufType, streamable, streamType } from "#forms/negotiate.ts";
import { isExpired } from "#forms/watch-frames.ts";
import { type WatchRegister, WatchStream } from "#server/watch-stream.ts";
import { messageFormat } from "#forms/websocket-format.ts";
import { handshakeOf } from "#server/websocket-handshake.ts";
import type { Predicate } from "#watch/predicate.ts";
import { formFor } from "./answer.ts";
import type { ApiDeps } from "./deps.ts";
import { explainRead, watchIndex } from "./explain-read.ts";
import { listQuery, type ListQuery } from "./list-options.ts";
import { shownSelection, ShownSelectionSink } from "./shown-selection.ts";
import type { StoredKind } from "./stored-kind.ts";
import { watchFormat } from "./watch-format.ts";

export async function handleWatch(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const handshake = handshakeOf(context.request);
  const form = streamable(formFor(context, kind));
  const query = listQuery(kind.resource, context.query, true, kind.selectableFields);
  // Parsing a selector of 60 KB takes about 10 ms, compiling it about 5 ms.
  context.pace.note(context.request.query.length);
  await context.pace.step();
  const { name: caller } = context.user;
  const stream = watchStream(deps, kind, query, {
    isMaking: makesItsOwn(context, form),
    caller,
    initialEventsSent: () => noteInitialEvents(deps, context, kind),
  });
  if (handshake.kind === "refused") return handshake.response;
  if (context.explanation !== undefined)
    explainRead(context, "cache", watchIndex(context, kind, query));
  const selectors = new KeptSelectors(deps.selectors, context.user.name);
  try {
    await attach(context, kind, query, { stream, selectors });
  } catch (error) {
    selectors[Symbol.dispose]();
    throw error;
  }
  if (context.request.peer.kind === "direct") return stream.eventResponse();
  const format = watchFormat(deps.clock, context, kind, form);
  if (handshake.kind === "agreed") {
    const messages = messageFormat(format, form.mediaType === protobufType);
    return stream.byteResponse(messages, handshake.headers, 101);
  }
  return stream.byteResponse(format, { "content-type": streamType(form.mediaType) });
}

interface Opening {
  readonly stream: WatchStream;
  /** Released when the stream closes its watch, or here if the watch does not open. */
  readonly selectors: KeptSelectors;
}

async function attach(
  context: RequestContext,
  kind: StoredKind,
  query: ListQuery,
  { stream, selectors }: Opening,
): Promise<void> {
  const { namespace, name } = context.place;
  const fields = withPathName(query.fields, name);
  const options = {
    ...given({ labels: query.labels, fields }),
    resourceVersion: query.resourceVersion,
    ...given({ sendInitialEvents: query.sendInitialEvents }),
    allowBookmarks: query.allowWatchBookmarks,
    keep: (predicate: Predicate) => selectors.keep(predicate),
  };
  try {
    const watch = await openWatch(kind, namespace, options, stream);
    stream.attach({
      resume: () => watch.resume(),
      bookmark: () => watch.bookmark(),
      close: () => {
        selectors[Symbol.dispose]();
        watch.close();
      },
    });
  } catch (error) {
    if (!isExpired(error)) throw error;
    selectors[Symbol.dispose]();
    stream.end(error);
  }
}

function openWatch(
  kind: StoredKind,
  namespace: string,
  options: WatchOptions,
  stream: WatchStream,
): Promise<ResourceWatch> {
  const selection = shownSelection(kind, options, options.keep);
  if (selection === undefined) return kind.store.watch(namespace, options, stream);
  const { labels: _, ...rest } = options;
  const sink = new ShownSelectionSink(kind, selection, stream);
  return sink.attach(kind.store.watch(namespace, { ...rest, ...selection.stored }, sink));
}

/** Adds the name in the path `/watch/pods/x` to the selector, which may only require the same name. */
function withPathName(fields: FieldSelector | undefined, name: string): FieldSelector | undefined {
  if (name === "") return fields;
  if (fields === undefined || fields.requirements.length === 0) {
    // Built and not parsed, because a name may contain a comma.
    return { requirements: [{ field: "metadata.name", operator: "=", value: name }] };
  }
  const named = fields.requirements.find(
    ({ field, operator }) => field === "metadata.name" && operator === "=",
  );
  if (named?.value === name) return fields;
  throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

/** A watch of a custom resource also ends with the definition it was opened under. */
function registerOf({ streams }: ApiDeps, { custom }: StoredKind): WatchRegister {
  if (custom === undefined) return streams.open;
  return {
    add(stream) {
      streams.open.add(stream);
      custom.watches.add(stream);
    },
    delete(stream) {
      streams.open.delete(stream);
      custom.watches.delete(stream);
    },
  };
}

/** Whether the stream makes its own form of objects. Direct callers get the objects themselves, informers at their start in one piece. */
function makesItsOwn({ request }: RequestContext, form: Negotiated): boolean {
  if (request.peer.kind === "direct") return false;
  return form.transform !== undefined || form.mediaType === protobufType;
}

function noteInitialEvents(
  { metrics, clock }: ApiDeps,
  { place, receivedMs }: RequestContext,
  { resource }: StoredKind,
): void {
  metrics.watchListed(resource, place, (clock.monotonicMs() - receivedMs) / 1_000);
}

function watchStream(
  deps: ApiDeps,
  kind: StoredKind,
  query: ListQuery,
  made: {
    readonly isMaking: boolean;
    readonly caller: string;
    readonly initialEventsSent: () => void;
  },
): WatchStream {
  const { group, version, kind: name, resource } = kind.resource;
  const { isMaking, caller, initialEventsSent } = made;
  const labels = [group, version, resource];
  const min = deps.limits.watchMsMin;
  const asked = query.timeoutSeconds ?? 0;
  const hasEnd = query.sendInitialEvents === true && query.allowWatchBookmarks;
  const timeoutMs = asked > 0 ? asked * 1000 : min + deps.random.below(min);
  return new WatchStream(
    {
      ...deps.streams,
      open: registerOf(deps, kind),
      sent: {
        events: deps.metrics.watchEvents.cell(labels),
        bytes: deps.metrics.watchEventBytes.cell(labels),
      },
    },
    {
      apiVersion: kind.apiVersion,
      kind: name,
      isMaking,
      caller,
      ...(hasEnd && { initialEventsSent }),
      timeoutMs,
      allowBookmarks: query.allowWatchBookmarks,
      hasEndOfInitialEvents: hasEnd,
      convert: (cached) => kind.show(cached),
      ...given({ prepared: kind.prepared }),
    },
  );
}
