/**
 * A view joined of several resources, for polls.
 *
 * Holds  lists of changes (`since`) lead on from a position that this very view gave as X-Revision; any other, as that of
 *        another replica, is 410, and its reader reads the whole. An event stream begins with the whole table, whatever
 *        Last-Event-ID says: rows not named before the first BOOKMARK are gone. ETags are equal on every replica.
 */
import { expiredError } from "#api/status.ts";
import { concatBytes } from "#base/bytes.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Pace } from "#platform/pace.ts";
import { WatchStream } from "#server/watch-stream.ts";
import type { WatchSink } from "#watch/watch-item.ts";
import { kindId } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import type { JoinedView } from "../views/joined/joined-view.ts";
import { RowObject } from "../views/joined/row-object.ts";
import type { LogEntry } from "../views/joined/change-log.ts";
import { relayApiVersion } from "../views/view-form.ts";
import { eventFormat, eventHeaders } from "./event-stream.ts";
import type { EventDeps, Pollable, Since } from "./pollable.ts";

const encoder = new TextEncoder();
/** Number of rows of a list of changes, or of a stream, that are written in one turn of the loop. */
const rowsPerTurn = 512;

export class JoinedPoll implements Pollable<JoinedView> {
  readonly #name: string;
  readonly #resources: readonly Mirrored[];
  readonly view: () => JoinedView;

  constructor(name: string, resources: readonly Mirrored[], view: () => JoinedView) {
    this.#name = name;
    this.#resources = resources;
    this.view = view;
  }

  get title(): string {
    return this.#resources.map(({ kind }) => kindId(kind)).join(", ");
  }

  get isReady(): boolean {
    return this.#resources.every(({ mirror }) => mirror.ready);
  }

  get isServing(): boolean {
    return this.#resources.every(({ mirror }) => mirror.serving);
  }

  get ageMs(): number {
    return Math.max(...this.#resources.map(({ mirror }) => mirror.ageMs));
  }

  flush(): void {
    for (const { mirror } of this.#resources) mirror.flush();
  }

  newestPosition({ position }: JoinedView): string {
    return position;
  }

  since(query: URLSearchParams): Since<JoinedView> | undefined {
    const text = query.get("since") ?? "";
    if (text === "") return undefined;
    return {
      isNewest: ({ log }) => log.after(text) === log.end,
      changes: async (view, etag, pace) => this.#changes(view, { text, etag }, pace),
    };
  }

  async #changes(
    view: JoinedView,
    { text, etag }: { text: string; etag: string },
    pace: Pace,
  ): Promise<readonly Uint8Array[] | Error> {
    const { log, position } = view;
    const start = log.after(text);
    if (start === undefined)
      return expiredError(`too old position, or not of this replica: ${text}: read the view whole`);
    const latest = new Map<string, LogEntry>();
    for (const entry of log.from(start, log.end - start)) latest.set(entry.object.name, entry);
    const head = JSON.stringify({
      kind: "ChangeList",
      apiVersion: relayApiVersion,
      of: { view: this.#name },
      since: text,
      resourceVersion: position,
      etag,
    });
    const all = [...latest.values()];
    const gone = all.filter(({ type }) => type === "DELETED");
    const deleted = gone.map(({ object }) => object.row.identity);
    const open = `${head.slice(0, -1)},"deleted":[${deleted.join(",")}],"items":[`;
    const there = all.filter(({ type }) => type !== "DELETED");
    const body = [encoder.encode(open)];
    for (let at = 0; at < there.length; at += rowsPerTurn) {
      const rows = there.slice(at, at + rowsPerTurn).map(({ object }) => object.row.change);
      body.push(encoder.encode(`${at === 0 ? "" : ","}${rows.join(",")}`));
      if (at + rowsPerTurn < there.length) await pace.turn();
    }
    body.push(encoder.encode("]}\n"));
    return [concatBytes(body)];
  }

  events(_request: PlainRequest, { streams, timeoutMs }: EventDeps): PlainResponse {
    const view = this.view();
    const stream = new WatchStream(streams, {
      apiVersion: relayApiVersion,
      kind: "ViewRow",
      timeoutMs,
      isMaking: true,
      allowBookmarks: true,
      convert: ({ object }) => object,
    });
    stream.attach(new RowStream(view, stream));
    const form = { key: `joined:${this.#name}`, change: rowBytes };
    return stream.byteResponse(eventFormat(form, 0), eventHeaders);
  }
}

function rowBytes(object: { readonly json: Uint8Array }): Uint8Array {
  return object.json;
}

/** One reader of the changes. Its position is a number in the log; unread changes are not kept for it. */
class RowStream {
  readonly #view: JoinedView;
  readonly #sink: WatchSink;
  readonly #forget: () => void;
  /** Rows of the initial state that are not sent yet. */
  #state: readonly RowObject[];
  #next: number;
  #isOpen = false;
  /** Whether the initial table has been sent. */
  #isBegun = false;
  #isEnded = false;

  constructor(view: JoinedView, sink: WatchSink) {
    this.#view = view;
    this.#sink = sink;
    this.#next = view.log.end;
    this.#state = [...view.rows.values()].map((row) => new RowObject(row, 0, view.position));
    this.#forget = view.follow(() => {
      if (this.#isOpen) this.resume();
    });
  }

  /** Called when the stream accepts more data. */
  resume(): void {
    this.#isOpen = true;
    if (this.#isEnded) return;
    if (this.#view.ended) return this.#end();
    while (this.#state.length > 0) {
      const portion = this.#state.slice(0, rowsPerTurn);
      const items = portion.map(
        (object) => ({ type: "ADDED", object, resourceVersion: "0" }) as const,
      );
      if (!this.#sink.deliver(items)) return;
      this.#state = this.#state.slice(rowsPerTurn);
    }
    if (!this.#isBegun) this.bookmark();
    this.#isBegun = true;
    this.#changes();
  }

  #changes(): void {
    const { log } = this.#view;
    while (!this.#isEnded && this.#next < log.end) {
      if (this.#next < log.start) return this.#end();
      const portion = log.from(this.#next, rowsPerTurn);
      const items = portion.map(({ type, object }) => ({
        type,
        object,
        resourceVersion: object.resourceVersion,
      }));
      if (!this.#sink.deliver(items)) return;
      this.#next += portion.length;
    }
  }

  bookmark(): void {
    if (this.#state.length > 0) return;
    const position = this.#view.log.position(this.#next);
    this.#sink.deliver([{ type: "BOOKMARK", object: undefined, resourceVersion: position }]);
  }

  close(): void {
    this.#isEnded = true;
    this.#forget();
  }

  #end(): void {
    this.close();
    this.#sink.end(expiredError("the view began anew, or its changes are gone: read it again"));
  }
}
