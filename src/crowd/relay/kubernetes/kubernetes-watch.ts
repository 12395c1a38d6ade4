/**
 * WATCH of a mirrored resource as an API server answers it: a cursor of the mirror's cache behind a
 * stream. A position that means nothing here is a stream of one 410.
 */
import type { AnyObject } from "#api/object.ts";
import { KeptSelectors } from "#server/kept-selectors.ts";
import { protobufType, streamType } from "#forms/negotiate.ts";
import { WatchStream } from "#server/watch-stream.ts";
import { messageFormat } from "#forms/websocket-format.ts";
import { handshakeOf } from "#server/websocket-handshake.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Cursor } from "#watch/cursor.ts";
import { type Answer, type FrontendDeps, freshEnough, type Read } from "./kubernetes-read.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { type ReadForm, readForm, watchFormat } from "./read-form.ts";
import { type WatchQuery, watchQuery } from "./read-query.ts";

type CursorHandle = Pick<Cursor, "live" | "resume" | "bookmark" | "close">;

export interface WatchLimits {
  readonly watchMsMin: number;
}

export async function answerWatch(
  deps: FrontendDeps,
  { resource, request, place, query, callerName }: Read,
  limits: WatchLimits,
): Promise<Answer> {
  const parsed = watchQuery(resource.kind, place, request, query);
  if (parsed === "pass") return "pass";
  const form = readForm(resource, parsed.form, query);
  if (form === undefined) return "pass";
  const handshake = handshakeOf(request);
  if (handshake.kind === "refused") return handshake.response;
  const headers = await freshEnough(deps, resource, parsed.version);
  if (!resource.mirror.serving) return "pass";
  const selectors = new KeptSelectors(deps.selectors, callerName);
  const asked = { ...parsed, predicate: selectors.keep(parsed.predicate) };
  const left = enterHerdOr(() => selectors[Symbol.dispose](), deps, resource, asked);
  const watchMs = watchMsOf(deps, asked, limits);
  const stream = openStream(deps, resource, asked, form, { watchMs, caller: callerName });
  const { after } = asked;
  const refused = after === undefined ? undefined : resource.mirror.refusal(after);
  const begun = after === undefined ? "state" : refused === undefined ? "resumed" : "refused";
  deps.metrics.watchesStarted.add([begun]);
  if (refused === undefined) {
    const cursor = keeping(startCursor(resource, asked, form, stream), selectors);
    if (left === undefined) stream.attach(cursor);
    else attachHerd(stream, cursor, left);
  } else {
    selectors[Symbol.dispose]();
    deps.metrics.expired.add([]);
    stream.end(refused);
  }
  const format = watchFormat(deps.clock, resource, form);
  if (handshake.kind === "agreed") {
    const messages = messageFormat(format, form.contentType === protobufType);
    return stream.byteResponse(messages, { ...headers, ...handshake.headers }, 101);
  }
  const contentType = streamType(form.contentType);
  return stream.byteResponse(format, { "content-type": contentType, ...headers });
}

/** Enters the limiter of large responses; calls `giveUp` when it refuses the watch. */
function enterHerdOr(
  giveUp: () => void,
  deps: FrontendDeps,
  resource: Mirrored,
  asked: WatchQuery,
): (() => void) | undefined {
  try {
    return enterHerd(deps, resource, asked);
  } catch (error) {
    giveUp();
    throw error;
  }
}

/** A watch that begins with the whole state costs as much as a list. Undefined: this watch does not begin with it. */
function enterHerd(
  { largeAnswers }: FrontendDeps,
  { kind, mirror }: Mirrored,
  { predicate, after }: WatchQuery,
): (() => void) | undefined {
  if (after !== undefined || predicate.selective) return undefined;
  if (kind.namespaced && predicate.from !== "") return undefined;
  return largeAnswers.enter(mirror.cache.state.bytes);
}

function watchMsOf(
  { random }: FrontendDeps,
  { timeoutSeconds }: WatchQuery,
  { watchMsMin }: WatchLimits,
): number {
  return timeoutSeconds > 0 ? timeoutSeconds * 1000 : watchMsMin + random.below(watchMsMin);
}

function openStream(
  { streams }: FrontendDeps,
  resource: Mirrored,
  { allowBookmarks }: WatchQuery,
  form: ReadForm,
  { watchMs, caller }: { readonly watchMs: number; readonly caller: string },
): WatchStream {
  const { apiVersion, kind } = resource.kind;
  const isMaking = form.kind !== "objects" || form.contentType === protobufType;
  const options = { apiVersion, kind, allowBookmarks, isMaking, caller, convert: asStored };
  return new WatchStream(streams, { ...options, timeoutMs: watchMs });
}

function asStored({ object }: CachedObject): AnyObject {
  return object;
}

function startCursor(
  { mirror }: Mirrored,
  asked: WatchQuery,
  form: ReadForm,
  stream: WatchStream,
): Cursor {
  return mirror.cache.watch(
    {
      predicate: asked.predicate,
      bookmarks: asked.allowBookmarks,
      start: asked.after === undefined ? "state" : { after: asked.after },
      marker: asked.marker,
      latest: asked.latestOnly,
      // The checksum covers whole objects: clients of other forms could not verify it.
      checksums: asked.checksums && form.kind === "objects",
    },
    stream,
  );
}

/** Wraps a cursor so that its selectors return to the pool when the watch is closed. */
function keeping(cursor: Cursor, selectors: KeptSelectors): CursorHandle {
  return {
    get live() {
      return cursor.live;
    },
    resume: () => cursor.resume(),
    bookmark: () => cursor.bookmark(),
    close() {
      selectors[Symbol.dispose]();
      cursor.close();
    },
  };
}

/** Leaves the limiter when the watcher has the initial state or disconnects; from then on the watch is an ordinary one. */
function attachHerd(stream: WatchStream, cursor: CursorHandle, left: () => void): void {
  stream.attach({
    resume() {
      cursor.resume();
      if (!cursor.live) return;
      left();
      stream.attach(cursor);
    },
    bookmark: () => cursor.bookmark(),
    close() {
      left();
      cursor.close();
    },
  });
}
