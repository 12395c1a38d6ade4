/**
 * One stream of the aggregated discovery service, in either protocol: requests in, responses out.
 *
 *   request ──► subscriptions ◄── tables
 *                    │ wake
 *                    ▼
 *                  pump ──► additions: clusters, endpoints, then listeners, routes
 *                       └─► removals:  listeners, routes, then endpoints, clusters
 *
 * S1  A type has one response outstanding; what changes meanwhile merges into the next.
 * S2  Make before break: listeners and routes wait until the client has taken all clusters and endpoints
 *     that are new to it; a removal waits until nothing else is to be sent, and what may refer to it is gone.
 * S3  Nothing is sent of a scope before it is known that the client may see it.
 * S5  Heartbeats go to clients that know them, when nothing else is to be sent of a type.
 * S4  A refused response is not sent again; the resource's next content is.
 * Bounds `namesMax` names of a stream, `typesMax` types, `responseBytesMax` of a delta response.
 */
import { assert } from "#base/assert.ts";
import { concatBytes } from "#base/bytes.ts";
import { type DeltaParts, takeAdditions, takeRemovals } from "./delta-response.ts";
import {
  deltaHead,
  type DeltaRequest,
  readDeltaRequest,
  readStateRequest,
  type Refusal,
  stateHead,
  type StateRequest,
  type XdsNode,
} from "./discovery-messages.ts";
import type { StreamLimits } from "./limits.ts";
import { heartbeatsOf, takeHeartbeats } from "./heartbeats.ts";
import type { Protocol, ResourceForms } from "./resource-forms.ts";
import type { ResourceTable } from "./resource-table.ts";
import { allNamespaces, readRight, rightName, ScopeRights } from "./scope-rights.ts";
import {
  currentVersion,
  sendsWholeSet,
  type StateParts,
  takeChanged,
  takeWholeSet,
} from "./state-response.ts";
import { StreamEndError } from "./stream-end.ts";
import {
  everything,
  notSent,
  Subscription,
  TooFarBehindError,
  type Viewer,
} from "./subscription.ts";
import {
  breakRank,
  collectionOf,
  isReferredTo,
  isWholeSet,
  makeRank,
  refersToOthers,
} from "./type-urls.ts";

interface StreamDeps {
  /** Returns the table of a type; that of a type that is not served is empty. */
  readonly tableOf: (typeUrl: string) => ResourceTable;
  /** Returns the namespace that a resource name is in; `allNamespaces` if it is in none. */
  readonly scopeOf: (typeUrl: string, name: string) => string;
  /** Asks for a right, which scope-rights.ts names; the answer is passed to `decide`. */
  readonly ask: (right: string) => void;
  /** Called when `pump` has something to send. */
  readonly wake: () => void;
  /** Accounts for a change in the number of names. @returns false when there is no room for more. */
  readonly takeNames: (change: number) => boolean;
  /** Called when the client has acknowledged or refused a response. */
  readonly answered: (typeUrl: string, refusal: Refusal | undefined) => void;
  readonly forms: ResourceForms;
  readonly sink: ResponseSink;
}

interface ResponseSink {
  /** Whether the client does not read; then nothing is sent until `wake` is called from outside. */
  readonly isFull: boolean;
  /** Sends a message in pieces, which are not changed afterwards. The first has `headroomBytes` free at its start. */
  send(pieces: readonly Uint8Array[]): void;
}

/** Bytes for the prefix of a gRPC message. */
export const headroomBytes = 5;
const headroom = new Uint8Array(headroomBytes);
/** Maximum bytes of responses that are copied into one piece. */
const joinBytesMax = 16 * 1024;

export class DiscoveryStream {
  readonly #deps: StreamDeps;
  readonly #limits: StreamLimits;
  readonly #isDelta: boolean;
  readonly #protocol: Protocol;
  /** Rights by collection; "" is for the objects that clusters and routes are made of. */
  readonly #rights = new Map<string, ScopeRights>();
  /** Subscriptions in the order in which new resources are sent (`makeRank`); `#pumpRemovals` has its own order. */
  #subscriptions: Subscription[] = [];
  #node: XdsNode | undefined;
  #names = 0;
  #responses = 0;
  #isClosed = false;

  constructor(deps: StreamDeps, limits: StreamLimits, protocol: Protocol) {
    this.#deps = deps;
    this.#protocol = protocol;
    this.#limits = limits;
    this.#isDelta = protocol === "delta";
  }

  get zone(): string {
    return this.#node?.zone ?? "";
  }

  get nodeId(): string {
    return this.#node?.id ?? "";
  }

  /** Rights to ask about again periodically; the answers are passed to `decide`. */
  get scopes(): readonly string[] {
    return [...this.#rights].flatMap(([collection, rights]) =>
      rights.decided.map((scope) => rightName(collection, scope)),
    );
  }

  wake(): void {
    if (!this.#isClosed) this.#deps.wake();
  }

  /** Starts heartbeats. Unsent heartbeats of the last time are not started again. */
  beat(): void {
    for (const one of this.#subscriptions) {
      if (one.form.heartbeat !== undefined && !one.hasAdditions)
        one.beats ??= heartbeatsOf(one, this.zone);
    }
    this.wake();
  }

  /** Takes a message of the client. @throws ProtobufError, StreamEndError. */
  receive(bytes: Uint8Array): void {
    if (this.#isDelta) this.#receiveDelta(readDeltaRequest(bytes));
    else this.#receiveState(readStateRequest(bytes));
    this.wake();
  }

  /** Takes the answer about a right. @throws StreamEndError when the client lost it. */
  decide(right: string, isAllowed: boolean): void {
    if (this.#isClosed) return;
    const { collection, scope } = readRight(right);
    const verdict = this.#rightsOf(collection).decide(scope, isAllowed);
    if (verdict === "ended") throw forbidden(right);
    if (verdict === "granted") {
      for (const one of this.#subscriptions) for (const name of one.names.keys()) one.changed(name);
    }
    this.wake();
  }

  /** Sends everything that is due and allowed. @throws StreamEndError. */
  pump(): void {
    if (this.#isClosed || this.#rights.values().some((rights) => rights.isOpen)) return;
    for (const { followsAll, table } of this.#subscriptions) {
      const collection = collectionOf(table.typeUrl);
      if (followsAll && !this.#rightsOf(collection).seesAll) {
        throw forbidden(rightName(collection, allNamespaces));
      }
    }
    try {
      for (const one of this.#subscriptions) this.#pumpAdditions(one);
      if (this.#subscriptions.some((one) => one.removals.size > 0)) this.#pumpRemovals();
    } catch (error) {
      if (!(error instanceof TooFarBehindError)) throw error;
      throw new StreamEndError("behind", error.message);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const one of this.#subscriptions) one.close();
    this.#subscriptions = [];
    this.#deps.takeNames(-this.#names);
  }

  #receiveDelta(request: DeltaRequest): void {
    const { typeUrl, subscribe, unsubscribe, versions } = request;
    const { one, isFirst } = this.#subscription(request);
    this.#answered(one, request);
    // The versions stay in memory until all are compared; a genuine client has no more than this.
    if (versions.size > one.table.size + this.#limits.namesMax) {
      throw new StreamEndError("limit", "versions of more resources than there are");
    }
    const held = isFirst ? versions : new Map<string, string>();
    // Legacy behaviour: a client that first names nothing subscribes to everything of these types.
    const means = isFirst && subscribe.length === 0 && isWholeSet(typeUrl);
    if (means || subscribe.includes(everything)) this.#followAll(one, held);
    for (const name of subscribe) {
      if (name !== everything) this.#follow(one, name, held.get(name) ?? notSent);
    }
    for (const name of unsubscribe) {
      if (name === everything) one.unfollowAll();
      else this.#unfollow(one, name);
    }
  }

  #receiveState(request: StateRequest): void {
    const { typeUrl, names, version } = request;
    const { one, isFirst } = this.#subscription(request);
    this.#answered(one, request);
    // Whichever response the request is for, requests come in order, and this one names all. A client that
    // drops a name and takes it again while a response is on its way must be seen to.
    const wanted = new Set(names);
    one.meansAll = names.length === 0 && (isFirst ? isWholeSet(typeUrl) : one.meansAll);
    if (one.meansAll || wanted.delete(everything)) this.#followAll(one);
    else if (one.followsAll) one.unfollowAll();
    for (const name of one.names.keys()) if (!wanted.has(name)) this.#unfollow(one, name);
    for (const name of wanted) if (!one.names.has(name)) this.#follow(one, name, notSent);
    // A version stands for a set, without names that the client dropped since. It is valid if none can be dropped.
    if (isFirst && one.meansAll) one.version = version;
  }

  /** Skips the initial set if a client of everything returns with the version of the same set. */
  #compareHeld(one: Subscription): void {
    if (one.lastNonce !== "" || one.version === "" || one.names.size > 0) return;
    if (currentVersion(one, this) === one.version) one.skipInitial();
  }

  #subscription(request: DeltaRequest | StateRequest): { one: Subscription; isFirst: boolean } {
    const { typeUrl, node } = request;
    this.#node ??= node;
    const known = this.#subscriptions.find((one) => one.table.typeUrl === typeUrl);
    if (known !== undefined) return { one: known, isFirst: false };
    if (typeUrl === "") throw new StreamEndError("invalid", "type URL is required for ADS");
    if (typeUrl.length > this.#limits.nameLengthMax) {
      throw new StreamEndError("invalid", "the type URL is too long");
    }
    if (this.#subscriptions.length >= this.#limits.typesMax) {
      throw new StreamEndError("limit", `more than ${this.#limits.typesMax} types are named`);
    }
    const one = new Subscription(
      this.#deps.tableOf(typeUrl),
      this.#viewerOf(typeUrl),
      this.#deps.forms.of(this.#protocol, this.#node),
    );
    this.#subscriptions.push(one);
    this.#subscriptions.sort((a, b) => makeRank(a.table.typeUrl) - makeRank(b.table.typeUrl));
    return { one, isFirst: true };
  }

  #rightsOf(collection: string): ScopeRights {
    const known = this.#rights.get(collection);
    if (known !== undefined) return known;
    const ask = (scope: string): void => this.#deps.ask(rightName(collection, scope));
    const rights = new ScopeRights(this.#limits, ask);
    this.#rights.set(collection, rights);
    return rights;
  }

  #viewerOf(typeUrl: string): Viewer {
    const rights = this.#rightsOf(collectionOf(typeUrl));
    const zone = (): string => this.zone;
    return {
      get zone() {
        return zone();
      },
      maySee: (scope) => rights.maySee(scope),
      want: (scope) => rights.want(scope),
      wake: () => this.wake(),
    };
  }

  #answered(one: Subscription, { nonce, refusal }: DeltaRequest | StateRequest): void {
    if (nonce === "" || nonce !== one.outstanding) return;
    one.outstanding = undefined;
    this.#deps.answered(one.table.typeUrl, refusal);
  }

  #followAll(one: Subscription, held?: ReadonlyMap<string, string>): void {
    this.#rightsOf(collectionOf(one.table.typeUrl)).need(allNamespaces);
    one.followAll(held);
  }

  #follow(one: Subscription, name: string, version: string): void {
    const { nameLengthMax, namesMax } = this.#limits;
    if (name.length > nameLengthMax) {
      throw new StreamEndError("invalid", `a name is longer than ${nameLengthMax} characters`);
    }
    const { typeUrl } = one.table;
    this.#rightsOf(collectionOf(typeUrl)).need(this.#deps.scopeOf(typeUrl, name));
    if (!one.follow(name, version)) return;
    this.#names++;
    if (this.#names > namesMax) {
      this.#names--;
      one.unfollow(name);
      throw new StreamEndError("limit", `more than ${namesMax} names are subscribed to`);
    }
    if (this.#deps.takeNames(1)) return;
    this.#names--;
    one.unfollow(name);
    throw new StreamEndError("limit", "all clients together subscribe to too many names");
  }

  #unfollow(one: Subscription, name: string): void {
    if (!one.unfollow(name)) return;
    this.#names--;
    this.#deps.takeNames(-1);
  }

  #pumpAdditions(one: Subscription): void {
    if (one.outstanding !== undefined) return;
    if (!one.hasAdditions) return this.#pumpHeartbeats(one);
    one.beats = undefined;
    if (refersToOthers(one.table.typeUrl) && !this.#isReferredToTaken()) return;
    if (this.#deps.sink.isFull) return;
    if (!this.#isDelta) this.#compareHeld(one);
    one.catchUp();
    if (this.#isDelta)
      return this.#sendDelta(one, takeAdditions(one, this.#limits.responseBytesMax));
    if (!sendsWholeSet(one)) return this.#sendState(one, takeChanged(one, this));
    if (one.additions.size > 0 || one.isInitial) {
      this.#sendState(one, takeWholeSet(one, this, "additions"));
    }
  }

  #pumpHeartbeats(one: Subscription): void {
    if (one.beats === undefined || this.#deps.sink.isFull) return;
    const fields = takeHeartbeats(one.beats, this.#limits.responseBytesMax);
    if (fields.length === 0) one.beats = undefined;
    else this.#sendDelta(one, { fields, removed: [] });
  }

  /** Whether the client has acknowledged all current clusters and endpoints. */
  #isReferredToTaken(): boolean {
    return this.#subscriptions.every(
      (one) =>
        !isReferredTo(one.table.typeUrl) || (one.outstanding === undefined && !one.hasAdditions),
    );
  }

  #pumpRemovals(): void {
    if (this.#subscriptions.some((one) => one.hasAdditions)) return;
    const ranked = this.#subscriptions
      .filter((one) => one.removals.size > 0 || one.outstanding !== undefined)
      .sort((a, b) => breakRank(a.table.typeUrl) - breakRank(b.table.typeUrl));
    for (const one of ranked) {
      // The client may still have resources that refer to the removed ones.
      if (one.outstanding !== undefined || this.#deps.sink.isFull) return;
      this.#sendRemovals(one);
      if (refersToOthers(one.table.typeUrl) && one.outstanding !== undefined) return;
    }
  }

  #sendRemovals(one: Subscription): void {
    if (this.#isDelta)
      return this.#sendDelta(one, takeRemovals(one, this.#limits.responseBytesMax));
    if (sendsWholeSet(one)) return this.#sendState(one, takeWholeSet(one, this, "removals"));
    // This protocol has no removals: the client drops resources without references by itself.
    for (const name of one.removals) one.sent(name, undefined);
    one.removals.clear();
  }

  #sendDelta(one: Subscription, parts: DeltaParts | undefined): void {
    if (parts === undefined) return;
    this.#send(deltaHead(this.#head(one), parts.removed), parts.fields);
  }

  #sendState(one: Subscription, parts: StateParts | undefined): void {
    if (parts === undefined) return;
    one.version = parts.version;
    this.#send(stateHead(this.#head(one), parts.version), parts.fields);
  }

  #head(one: Subscription): { readonly typeUrl: string; readonly nonce: string } {
    assert(one.outstanding === undefined, "two responses outstanding", {
      typeUrl: one.table.typeUrl,
    });
    const nonce = (++this.#responses).toString(16);
    one.outstanding = nonce;
    one.lastNonce = nonce;
    return { typeUrl: one.table.typeUrl, nonce };
  }

  #send(head: readonly Uint8Array[], fields: readonly Uint8Array[]): void {
    let bytes = 0;
    for (const field of fields) bytes += field.length;
    const pieces =
      bytes <= joinBytesMax
        ? [concatBytes([headroom, ...head, ...fields])]
        : [concatBytes([headroom, ...head]), concatBytes(fields)];
    this.#deps.sink.send(pieces);
  }
}

function forbidden(right: string): StreamEndError {
  const { collection, scope } = readRight(right);
  const what = collection === "" ? "services" : collection;
  const where = scope === allNamespaces ? "all namespaces" : `the namespace "${scope}"`;
  return new StreamEndError("forbidden", `may not list and watch ${what} of ${where}`);
}
