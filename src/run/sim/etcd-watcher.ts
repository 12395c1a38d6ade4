/**
 * A watcher as clients build them: it creates its watches on a stream, remembers for each the revision it
 * has everything up to, and resumes there after a cut; after `compacted` it restarts at that revision.
 */
import type { FakeRandom } from "#platform/testing/random.ts";
import * as m from "#wire/etcd-messages.ts";
import type { SimEtcdClient } from "./etcd-client.ts";
import { plainEvent } from "./etcd-messages.ts";
import type { ClientStream } from "#platform/testing/network.ts";
import { type GrpcNetwork, openStream } from "./grpc-network.ts";
import type { Recorder, WatchInProgress } from "./recorder.ts";
import type { Span } from "./checkers/history.ts";

export interface WatcherPlan extends Span {
  readonly name: string;
  readonly startRevision: number;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly previous: boolean;
  readonly fragment: boolean;
  /** Time that the client takes per message. With several watches on a stream, the value of the first one counts. */
  readonly slowMs: number;
}

export interface WatcherMarks {
  resumed: number;
  compacted: number;
  canceled: number;
  progress: number;
  /** Number of progress messages for all watches of a stream. */
  streamProgress: number;
  fragments: number;
}

interface WatcherDeps {
  readonly client: SimEtcdClient;
  readonly network: GrpcNetwork;
  readonly recorder: Recorder;
  readonly marks: WatcherMarks;
}

/** One place on the stream, for watches that follow one another. */
interface Seat {
  readonly plan: WatcherPlan;
  /** Watch id. A single watch uses 0, which lets the server choose; it chooses 0 as well. */
  readonly id: number;
  /** Revision to request next; 0: from now on. */
  next: number;
  sequence: number;
  watch: WatchInProgress | undefined;
  /** Previous watch of this place on the stream, which was canceled. */
  canceled: WatchInProgress | undefined;
}

const reconnectMs = 100;
/** Watch id on the wire for all watches of the stream. */
const everyWatch = -1;

export class Watcher {
  readonly #deps: WatcherDeps;
  readonly #seats: readonly Seat[];
  #stream: ClientStream | undefined;
  /** Number of the current stream. Messages of older streams are ignored. */
  #session = 0;
  #ended = false;

  constructor(deps: WatcherDeps, plans: readonly WatcherPlan[]) {
    this.#deps = deps;
    this.#seats = plans.map((plan, i) => ({
      plan,
      id: plans.length === 1 ? 0 : i + 1,
      next: plan.startRevision,
      sequence: 0,
      watch: undefined,
      canceled: undefined,
    }));
  }

  /** Revision up to which the watcher has seen everything. */
  get position(): number {
    return Math.max(0, Math.min(...this.#seats.map(({ next }) => next)) - 1);
  }

  start(): void {
    const connection = this.#deps.client.connection();
    if (connection === undefined) return this.#later();
    const session = ++this.#session;
    const slowMs = this.#seats[0]?.plan.slowMs ?? 0;
    const stream = openStream(
      connection,
      "/etcdserverpb.Watch/Watch",
      {
        message: (bytes, sentMs) => {
          if (this.#session === session) this.#message(m.watchResponse.decode(bytes), sentMs);
        },
        closed: () => {
          if (this.#session === session) this.#closed();
        },
      },
      slowMs,
    );
    if (this.#session !== session) return;
    this.#stream = stream;
    for (const seat of this.#seats) this.#create(seat, stream);
  }

  askProgress(): void {
    this.#stream?.send(m.watchRequest.encode({ progress: {} }));
  }

  /** Cancels one watch. It is created again on the same stream once the cancellation is confirmed. */
  cancelOne(random: FakeRandom): void {
    const { id } = random.pick(this.#seats);
    this.#stream?.send(m.watchRequest.encode({ cancel: { watchId: id } }));
  }

  /** Closes the stream, and continues at the same position on a new one. */
  restart(random: FakeRandom): void {
    if (this.#ended || this.#stream === undefined) return;
    if (random.chance(0.5)) this.cancelOne(random);
    this.#stream.close();
  }

  /** Stops for good. The watcher is owed no further events. */
  end(): void {
    this.#ended = true;
    this.#stream?.close();
  }

  #create(seat: Seat, stream: ClientStream): void {
    const { plan } = seat;
    seat.watch = this.#deps.recorder.watch({
      watcher: `${plan.name}.${seat.sequence}`,
      key: plan.key,
      end: plan.end,
      startRevision: seat.next,
      noPut: plan.noPut,
      noDelete: plan.noDelete,
      previous: plan.previous,
    });
    stream.send(m.watchRequest.encode({ create: createRequest(seat) }));
  }

  #message(response: m.Of<typeof m.watchResponse>, sentMs: number): void {
    const revision = response.header?.revision ?? 0;
    if (response.watchId === everyWatch) return this.#streamProgress(revision);
    const seat = this.#seats.find(({ id }) => id === response.watchId);
    const watch = seat?.watch;
    if (seat === undefined || watch === undefined) {
      throw new Error(`nobody asked for watch ${response.watchId}`);
    }
    if (response.created) this.#created(seat, watch, revision);
    else if (response.canceled) this.#canceled(seat, watch, response.compactRevision);
    else if (response.events.length === 0) this.#progress(seat, revision);
    else this.#events(seat, watch, { ...response, revision, sentMs });
  }

  #created(seat: Seat, watch: WatchInProgress, revision: number): void {
    watch.created = { at: this.#deps.recorder.moment(), revision };
    if (seat.next === 0) seat.next = revision + 1;
  }

  #events(
    seat: Seat,
    watch: WatchInProgress,
    told: {
      readonly events: readonly m.WireEvent[];
      readonly fragment: boolean;
      readonly revision: number;
      readonly sentMs: number;
    },
  ): void {
    const { fragment, revision, sentMs } = told;
    const events = told.events.map(plainEvent);
    if (fragment) this.#deps.marks.fragments++;
    const at = this.#deps.recorder.moment();
    // Before the answer to the creation, a message can only belong to the canceled watch.
    const of = watch.created === undefined ? (seat.canceled ?? watch) : watch;
    of.messages.push({ kind: "events", at, sentMs, revision, fragment, events });
    if (of !== watch) return;
    // After a fragment, more events of the same revision follow.
    seat.next = (events.at(-1)?.revision ?? 0) + (fragment ? 0 : 1);
  }

  #streamProgress(revision: number): void {
    const seats = this.#seats.filter(({ watch }) => watch?.created !== undefined);
    if (seats.length > 1) this.#deps.marks.streamProgress++;
    for (const seat of seats) this.#progress(seat, revision);
  }

  #progress(seat: Seat, revision: number): void {
    this.#deps.marks.progress++;
    seat.watch?.messages.push({ kind: "progress", at: this.#deps.recorder.moment(), revision });
    seat.next = Math.max(seat.next, revision + 1);
  }

  #canceled(seat: Seat, watch: WatchInProgress, compactRevision: number): void {
    const at = this.#deps.recorder.moment();
    if (compactRevision === 0) {
      this.#deps.marks.canceled++;
      watch.messages.push({ kind: "canceled", at });
    } else {
      this.#deps.marks.compacted++;
      watch.messages.push({ kind: "compacted", at, compactRevision });
      seat.next = compactRevision + 1;
      seat.sequence++;
    }
    if (this.#seats.length === 1) return this.#stream?.close();
    seat.canceled = watch;
    if (this.#stream !== undefined) this.#create(seat, this.#stream);
  }

  #closed(): void {
    this.#session++;
    this.#stream = undefined;
    for (const seat of this.#seats) seat.watch = seat.canceled = undefined;
    if (this.#ended) return;
    this.#deps.marks.resumed++;
    this.#later();
  }

  #later(): void {
    const { clock } = this.#deps.network;
    clock.after("sim.step", reconnectMs, () => {
      if (!this.#ended) this.start();
    });
  }
}

function createRequest({ plan, id, next }: Seat): m.Of<typeof m.watchCreateRequest> {
  const { noPut, noDelete } = plan;
  return {
    key: plan.key,
    rangeEnd: plan.end,
    startRevision: next,
    progressNotify: true,
    filters: [...(noPut ? [m.FilterType.noPut] : []), ...(noDelete ? [m.FilterType.noDelete] : [])],
    prevKv: plan.previous,
    watchId: id,
    fragment: plan.fragment,
  };
}
