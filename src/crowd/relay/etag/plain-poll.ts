/** A view of one resource, as a source of polls. */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Pace } from "#platform/pace.ts";
import { WatchStream } from "#server/watch-stream.ts";
import { kindId } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import type { View } from "../views/view.ts";
import { changeList } from "./change-list.ts";
import { eventFormat, eventHeaders } from "./event-stream.ts";
import { sinceOf } from "./poll-query.ts";
import type { EventDeps, Pollable, Since } from "./pollable.ts";

export class PlainPoll implements Pollable<View> {
  readonly #resource: Mirrored;
  readonly view: () => View;

  constructor(resource: Mirrored, view: () => View) {
    this.#resource = resource;
    this.view = view;
  }

  get title(): string {
    return kindId(this.#resource.kind);
  }

  get isReady(): boolean {
    return this.#resource.mirror.ready;
  }

  get isServing(): boolean {
    return this.#resource.mirror.serving;
  }

  get ageMs(): number {
    return this.#resource.mirror.ageMs;
  }

  flush(): void {
    this.#resource.mirror.flush();
  }

  newestPosition(): string {
    return String(this.#resource.mirror.revision);
  }

  since(query: URLSearchParams): Since<View> | undefined {
    const since = sinceOf(query);
    if (since === undefined) return undefined;
    const { mirror } = this.#resource;
    return {
      isNewest: (view) => since >= view.revision,
      changes: (view, etag: string, pace: Pace) =>
        view.changes(since, () => changeList(mirror, view, { since, etag }, pace)),
    };
  }

  events(request: PlainRequest, { streams, timeoutMs }: EventDeps): PlainResponse {
    const { mirror, kind: mirrored } = this.#resource;
    const { form, predicate } = this.view().spec;
    const { apiVersion, kind } = mirrored;
    const stream = new WatchStream(streams, {
      apiVersion,
      kind,
      timeoutMs,
      isMaking: true,
      allowBookmarks: true,
      convert: ({ object }) => object,
    });
    const last = Number(request.headers["last-event-id"] ?? Number.NaN);
    const resumes = Number.isSafeInteger(last) && mirror.refusal(last) === undefined;
    const start = resumes ? { after: last } : "state";
    const startRevision = resumes ? 0 : mirror.cache.state.revision;
    stream.attach(mirror.cache.watch({ predicate, bookmarks: true, start }, stream));
    return stream.byteResponse(eventFormat(form, startRevision), eventHeaders);
  }
}
