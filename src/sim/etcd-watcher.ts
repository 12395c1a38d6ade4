/**
 * A watcher as clients build them: it creates its watches on a stream, keeps the revision it has
 * everything up to, and after a cut goes on from there; told `compacted`, it begins anew from there.
 */
import type { Prng } from "#base/prng.ts";
import * as m from "#wire/etcd-messages.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { plainEvent } from "./etcd-messages.ts";
import type { ClientStream, SimNetwork } from "./network.ts";
import type { Recorder, WatchInProgress } from "./recorder.ts";
import type { Span, WatchMessage } from "./checkers/history.ts";

export interface WatcherPlan extends Span {
  readonly name: string;
  readonly startRevision: number;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly previous: boolean;
  readonly fragment: boolean;
  /** How long it takes over each message. */
  readonly slowMs: number;
}

export interface WatcherMarks {
  resumed: number;
  compacted: number;
  progress: number;
  fragments: number;
}

export interface WatcherDeps {
  readonly client: EtcdClient;
  readonly network: SimNetwork;
  readonly recorder: Recorder;
  readonly marks: WatcherMarks;
}

const reconnectMs = 100;

export class Watcher {
  readonly plan: WatcherPlan;
  readonly #deps: WatcherDeps;
  #stream: ClientStream | undefined;
  #watch: WatchInProgress | undefined;
  /** The revision to ask for next; 0 is "from now". */
  #next: number;
  #sequence = 0;
  #ended = false;

  constructor(deps: WatcherDeps, plan: WatcherPlan) {
    this.#deps = deps;
    this.plan = plan;
    this.#next = plan.startRevision;
  }

  /** Everything up to here was seen. */
  get position(): number {
    return Math.max(0, this.#next - 1);
  }

  start(): void {
    const connection = this.#deps.client.connection();
    if (connection === undefined) return this.#later();
    const { plan } = this;
    const watch = this.#deps.recorder.watch({
      watcher: `${plan.name}.${this.#sequence}`,
      key: plan.key,
      end: plan.end,
      startRevision: this.#next,
      noPut: plan.noPut,
      noDelete: plan.noDelete,
      previous: plan.previous,
    });
    this.#watch = watch;
    const stream = connection.open(
      "/etcdserverpb.Watch/Watch",
      {
        message: (bytes, sentMs) => this.#message(watch, bytes, sentMs),
        closed: () => this.#closed(watch),
      },
      plan.slowMs,
    );
    if (this.#watch === watch) this.#stream = stream;
    stream.send(m.watchRequest.encode({ create: createRequest(plan, watch.startRevision) }));
  }

  askProgress(): void {
    this.#stream?.send(m.watchRequest.encode({ progress: {} }));
  }

  /** Lets go, and goes on from where it was on a new stream. */
  restart(random: Prng): void {
    if (this.#ended || this.#stream === undefined) return;
    if (random.chance(0.5)) this.#stream.send(m.watchRequest.encode({ cancel: { watchId: 0 } }));
    this.#stream.close();
  }

  /** For good. What it has is all it is owed. */
  end(): void {
    this.#ended = true;
    this.#stream?.close();
  }

  #message(watch: WatchInProgress, bytes: Buffer, sentMs: number): void {
    if (this.#watch !== watch) return;
    const response = m.watchResponse.decode(bytes);
    const at = this.#deps.recorder.moment();
    const revision = response.header?.revision ?? 0;
    if (response.created) {
      watch.created = { at, revision };
      if (this.#next === 0) this.#next = revision + 1;
    } else if (response.canceled) this.#canceled(watch, response.compactRevision);
    else if (response.events.length === 0) {
      this.#deps.marks.progress++;
      watch.messages.push({ kind: "progress", at, revision });
      this.#next = Math.max(this.#next, revision + 1);
    } else {
      const events = response.events.map(plainEvent);
      const { fragment } = response;
      if (fragment) this.#deps.marks.fragments++;
      watch.messages.push({ kind: "events", at, sentMs, revision, fragment, events });
      // Of a revision in parts, more follows.
      this.#next = (events.at(-1)?.revision ?? 0) + (fragment ? 0 : 1);
    }
  }

  #canceled(watch: WatchInProgress, compactRevision: number): void {
    if (compactRevision === 0) return;
    const at = this.#deps.recorder.moment();
    const message: WatchMessage = { kind: "compacted", at, compactRevision };
    watch.messages.push(message);
    this.#deps.marks.compacted++;
    this.#next = compactRevision + 1;
    this.#sequence++;
    this.#stream?.close();
  }

  #closed(watch: WatchInProgress): void {
    if (this.#watch !== watch) return;
    this.#watch = undefined;
    this.#stream = undefined;
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

function createRequest(
  plan: WatcherPlan,
  startRevision: number,
): m.Of<typeof m.watchCreateRequest> {
  const { noPut, noDelete } = plan;
  return {
    key: plan.key,
    rangeEnd: plan.end,
    startRevision,
    progressNotify: true,
    filters: [...(noPut ? [m.FilterType.noPut] : []), ...(noDelete ? [m.FilterType.noDelete] : [])],
    prevKv: plan.previous,
    watchId: 0,
    fragment: plan.fragment,
  };
}
