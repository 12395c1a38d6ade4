/**
 * Watches beside the model: every message of a stream must match the list of events. Several watches share
 * a stream; progress for the whole stream must not overtake any of them.
 */
import * as m from "#wire/etcd-messages.ts";
import type { EtcdApi, ApiStream } from "./etcd-api.ts";
import type { EtcdModel, ModelEvent } from "./etcd-model.ts";
import { plain } from "./plain.ts";

export interface WatchSpec {
  readonly key: string;
  readonly rangeEnd: string;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly prevKv: boolean;
  readonly fragment: boolean;
  readonly progressNotify: boolean;
  /** 0: the server chooses the id. */
  readonly watchId: number;
}

interface Watching {
  readonly spec: WatchSpec;
  readonly first: number;
  /** 0: the watch starts with the next event. */
  readonly startRevision: number;
  /** Whether the watch started below the compacted revision. */
  readonly late: boolean;
  id: number;
  got: number;
  state: "asked" | "open" | "compacted" | "canceled";
  /** Whether more events of the last revision will follow. */
  fragment: boolean;
  lastRevision: number;
}

/** The watches of one stream. */
export class ModelStream {
  readonly problems: string[] = [];
  readonly #model: EtcdModel;
  readonly #stream: ApiStream;
  readonly #asked: Watching[] = [];
  readonly #watches: Watching[] = [];
  /** Number of progress messages that answered a request. */
  answeredProgress = 0;

  constructor(api: EtcdApi, model: EtcdModel) {
    this.#model = model;
    this.#stream = api.stream("Watch/Watch", (bytes) => {
      const problem = this.#take(m.watchResponse.decode(Buffer.from(bytes)));
      if (problem !== undefined) this.problems.push(problem);
    });
  }

  get stalled(): boolean {
    return this.#stream.stalled;
  }

  create(spec: WatchSpec, startRevision: number): void {
    const first = startRevision === 0 ? this.#model.head + 1 : startRevision;
    const { noPut, noDelete } = spec;
    const filters = [
      ...(noPut ? [m.FilterType.noPut] : []),
      ...(noDelete ? [m.FilterType.noDelete] : []),
    ];
    this.#asked.push({
      spec,
      first,
      startRevision,
      late: startRevision > 0 && startRevision < this.#model.compactRevision,
      id: -1,
      got: 0,
      state: "asked",
      fragment: false,
      lastRevision: 0,
    });
    this.#stream.ask(m.watchRequest.encode({ create: { ...spec, startRevision, filters } }));
  }

  cancel(nth: number): void {
    const open = this.#open();
    const one = open[nth % Math.max(1, open.length)];
    if (one !== undefined) this.#stream.ask(m.watchRequest.encode({ cancel: { watchId: one.id } }));
  }

  /** Requests progress. @returns whether the request must be answered now. */
  askProgress(): boolean {
    this.#stream.ask(m.watchRequest.encode({ progress: {} }));
    const open = this.#open();
    return open.length > 0 && open.every(({ startRevision }) => startRevision <= this.#model.head);
  }

  stall(): void {
    this.#stream.stall();
  }

  drain(): void {
    this.#stream.drain();
  }

  /** Returns missing answers and events. Call it when no message is in transit any more. */
  missing(): string[] {
    if (this.stalled) return [];
    const unanswered = this.#asked.map(({ spec }) => `no answer to ${plain(spec)}`);
    return [
      ...unanswered,
      ...this.#open().flatMap((watch) => {
        const owed = this.#wanted(watch).length;
        if (watch.late) return [`watch ${watch.id} from ${watch.first} was not told compacted`];
        return watch.got === owed ? [] : [`watch ${watch.id} has ${watch.got} of ${owed} events`];
      }),
    ];
  }

  #open(): Watching[] {
    return this.#watches.filter(({ state }) => state === "open");
  }

  #take(response: m.Of<typeof m.watchResponse>): string | undefined {
    const { created, canceled, watchId, events } = response;
    if (created) return this.#created(response);
    const open = this.#open();
    const watch = open.find(({ id }) => id === watchId);
    if (events.length === 0 && !canceled) {
      if (watchId === -1) this.answeredProgress++;
      return this.#progress(response, watchId === -1 ? open : watch === undefined ? [] : [watch]);
    }
    if (watch === undefined) return `told of watch ${watchId}, which is not open`;
    return canceled ? this.#canceled(watch, response) : this.#events(watch, response);
  }

  #created({ canceled, watchId, header }: m.Of<typeof m.watchResponse>): string | undefined {
    const watch = this.#asked.shift();
    if (watch === undefined) return "created without a request";
    const { key, rangeEnd, watchId: wanted } = watch.spec;
    const empty = rangeEnd !== "" && rangeEnd !== "\0" && key >= rangeEnd;
    const taken = wanted !== 0 && this.#open().some(({ id }) => id === wanted);
    if (canceled !== (empty || taken)) return `canceled ${canceled}, for ${plain(watch.spec)}`;
    if (canceled) return undefined;
    if (this.#open().some(({ id }) => id === watchId)) return `id ${watchId} was given twice`;
    if (wanted !== 0 && watchId !== wanted) return `id ${watchId} instead of ${wanted}`;
    Object.assign(watch, { id: watchId, state: "open" });
    this.#watches.push(watch);
    if ((header?.revision ?? 0) > this.#model.head) return "created in the future";
    return undefined;
  }

  #canceled(
    watch: Watching,
    { compactRevision }: m.Of<typeof m.watchResponse>,
  ): string | undefined {
    watch.state = compactRevision > 0 ? "compacted" : "canceled";
    if (compactRevision === 0) return undefined;
    const next = this.#wanted(watch)[watch.got]?.revision ?? watch.first;
    if (compactRevision > this.#model.compactRevision) return `compacted at ${compactRevision}?`;
    if (watch.first < compactRevision || next < compactRevision) return undefined;
    return `watch ${watch.id} from ${watch.first} needs ${next}, told compacted ${compactRevision}`;
  }

  #events(watch: Watching, response: m.Of<typeof m.watchResponse>): string | undefined {
    const { events, fragment, header } = response;
    if (watch.late) return `watch ${watch.id} got what is compacted`;
    const wanted = this.#wanted(watch);
    for (const event of events) {
      const want = wanted[watch.got++];
      const problem = this.#eventProblem(watch, event, want);
      if (problem !== undefined) return problem;
    }
    const [first, last] = [events[0]?.kv?.modRevision ?? 0, events.at(-1)?.kv?.modRevision ?? 0];
    const split = first === watch.lastRevision && !watch.fragment;
    Object.assign(watch, { lastRevision: last, fragment });
    if (split) return `watch ${watch.id}: revision ${first} came in parts`;
    if (fragment && !watch.spec.fragment) return `watch ${watch.id} wanted no fragments`;
    const more = wanted[watch.got]?.revision === last;
    if (more !== fragment) return `watch ${watch.id}: fragment ${fragment}, more ${more}`;
    return (header?.revision ?? 0) < last ? `header below ${last}` : undefined;
  }

  #eventProblem(
    { id, spec }: Watching,
    event: m.WireEvent,
    want: ModelEvent | undefined,
  ): string | undefined {
    if (want === undefined) return `watch ${id}: nobody made ${plain(event)}`;
    const { key, revision, kv, previous } = want;
    const gone = {
      key,
      createRevision: 0,
      modRevision: revision,
      version: 0,
      value: "",
      lease: 0n,
    };
    const expected = { type: kv === undefined ? 1 : 0, kv: kv ?? gone };
    const { prevKv, ...told } = event;
    if (plain(told) !== plain(expected)) {
      return `watch ${id}: ${plain(told)} should be ${plain(expected)}`;
    }
    // The previous value may have been compacted by the time of the message.
    const may = spec.prevKv && previous !== undefined;
    const must = may && revision - 1 >= this.#model.compactRevision;
    if (prevKv === undefined && !must) return undefined;
    if (may && plain(prevKv) === plain(previous)) return undefined;
    return `watch ${id}: before ${plain(event.kv)} was ${plain(previous)}, told ${plain(prevKv)}`;
  }

  #progress(
    { header }: m.Of<typeof m.watchResponse>,
    watches: readonly Watching[],
  ): string | undefined {
    const revision = header?.revision ?? 0;
    if (watches.length === 0) return "progress of no watch";
    if (revision > this.#model.head) return `progress ${revision} of the future`;
    const behind = watches.find(
      (watch) => (this.#wanted(watch)[watch.got]?.revision ?? revision + 1) <= revision,
    );
    return behind && `progress ${revision} overtook watch ${behind.id}`;
  }

  #wanted({ spec, first }: Watching): ModelEvent[] {
    const { key, rangeEnd, noPut, noDelete } = spec;
    return this.#model.events.filter(
      (event) =>
        event.revision >= first &&
        (rangeEnd === "" ? event.key === key : event.key >= key) &&
        (rangeEnd === "" || rangeEnd === "\0" || event.key < rangeEnd) &&
        !(event.kv === undefined ? noDelete : noPut),
    );
  }
}
