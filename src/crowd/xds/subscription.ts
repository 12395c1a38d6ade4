/**
 * What one stream follows of one type, and what its client has not been sent yet.
 *
 *   resource set      ──► additions ──► response ──(outstanding)──► acknowledged or refused
 *   resource deleted  ──► removals  ──► response, when nothing refers to it any more (discovery-stream.ts)
 *
 * Holds  what a name is sent is the resource as it is when the response is made, so that any number of
 *        changes merge; a version that the client holds is not sent to it again. One response is
 *        outstanding; while it is, a follower of everything costs a position.
 */
import type { ResourceTable, Follower } from "./resource-table.ts";
import type { ResourceForm } from "./resource-forms.ts";
import { type Content, contentFor, type Resource } from "./resource.ts";

/** Name by which a client subscribes to all listed resources. */
export const everything = "*";
/** State of a named resource whose version the client does not hold. */
export const notSent = "";
export const toldAbsent = "absent";

/** The stream's view of its client. */
export interface Viewer {
  readonly zone: string;
  maySee(scope: string): boolean;
  /** Asks for the right to see a scope, if there is room; nothing is sent until the answer. */
  want(scope: string): void;
  /** Called when there is something to send. */
  wake(): void;
}

/** Thrown when a stream is so far behind that the changes are no longer known. */
export class TooFarBehindError extends Error {
  constructor(typeUrl: string) {
    super(`too many changes of ${typeUrl} were not taken: connect again`);
    this.name = "TooFarBehindError";
  }
}

export class Subscription implements Follower {
  readonly table: ResourceTable;
  readonly form: ResourceForm;
  readonly #viewer: Viewer;
  /** Version that the client holds, or `notSent` or `toldAbsent`. By key: name of the resource. */
  readonly names = new Map<string, string>();
  readonly additions = new Set<string>();
  readonly removals = new Set<string>();
  /** Nonce that is neither acknowledged nor refused yet. */
  outstanding: string | undefined;
  /** Nonce of the last response; "" before the first. */
  lastNonce = "";
  /** Whether everything was requested and nothing sent yet; then even an empty answer is due. */
  isAsked = false;
  /** State of the world only: whether the client never named a resource, which means everything. */
  meansAll = false;
  /** State of the world only: the version last sent, or the one that the client came with. */
  version = "";
  /** Position in the table's changes. Undefined: the client follows named resources only. */
  #position: number | undefined;
  #initial: Iterator<Resource, undefined> | undefined;
  /** Versions that the client claims to hold, until all of them are compared. */
  #held: Map<string, string> | undefined;

  /** Heartbeats that remain to be sent. */
  beats: Iterator<Uint8Array, undefined> | undefined;

  constructor(table: ResourceTable, viewer: Viewer, form: ResourceForm) {
    this.table = table;
    this.form = form;
    this.#viewer = viewer;
  }

  get followsAll(): boolean {
    return this.#position !== undefined;
  }

  /** Whether listed resources that the client does not have remain to be sent. */
  get isInitial(): boolean {
    return this.#initial !== undefined;
  }

  /** Whether there may be additions. Changes of listed resources are not read while a response is outstanding. */
  get hasAdditions(): boolean {
    const isBehind = this.#position !== undefined && this.#position < this.table.sequence;
    return isBehind || this.additions.size > 0 || this.#initial !== undefined;
  }

  get isIdle(): boolean {
    return this.outstanding === undefined && !this.hasAdditions && this.removals.size === 0;
  }

  /** Follows all listed resources. `held`: versions that the client already has. */
  followAll(held?: ReadonlyMap<string, string>): void {
    if (this.followsAll) return;
    this.table.followAll(this);
    this.#position = this.table.sequence;
    this.#initial = this.table.listedUntil(this.#position);
    this.isAsked = true;
    this.#held = new Map(held);
  }

  unfollowAll(): void {
    this.table.unfollowAll(this);
    this.#position = undefined;
    this.#initial = undefined;
    this.#held = undefined;
    this.isAsked = false;
  }

  /** @returns whether the name is new. */
  follow(name: string, version: string): boolean {
    const isNew = !this.names.has(name);
    if (isNew) this.table.follow(name, this);
    this.names.set(name, version);
    this.changed(name);
    return isNew;
  }

  /** @returns whether the name was followed. */
  unfollow(name: string): boolean {
    if (!this.names.delete(name)) return false;
    this.table.unfollow(name, this);
    this.additions.delete(name);
    this.removals.delete(name);
    // The client still follows everything, so it gets the resource's current content.
    if (this.followsAll && this.table.get(name)?.isListed !== false) this.additions.add(name);
    return true;
  }

  close(): void {
    this.unfollowAll();
    for (const name of this.names.keys()) this.table.unfollow(name, this);
  }

  changed(name: string): void {
    const known = this.names.get(name) ?? toldAbsent;
    const resource = this.table.get(name);
    for (const scope of resource?.alsoOf ?? []) this.#viewer.want(scope);
    // The right to see the resource may not be decided yet.
    const isThere = resource !== undefined;
    if (isThere || known === notSent) {
      this.additions.add(name);
      this.removals.delete(name);
    } else {
      this.additions.delete(name);
      if (known !== toldAbsent) this.removals.add(name);
    }
    this.#viewer.wake();
  }

  listChanged(): void {
    this.#viewer.wake();
  }

  /** Content of a resource, if the client may see it. */
  contentOf(name: string): Content | undefined {
    const resource = this.table.get(name);
    if (resource === undefined) return undefined;
    const { scope, alsoOf = [] } = resource;
    if (![scope, ...alsoOf].every((one) => this.#viewer.maySee(one))) return undefined;
    return contentFor(resource, this.#viewer.zone);
  }

  /** Sorts the changes of listed resources into additions and removals. @throws TooFarBehindError. */
  catchUp(): void {
    if (this.#position === undefined || this.#position === this.table.sequence) return;
    const changes = this.table.changesAfter(this.#position);
    if (changes === undefined) throw new TooFarBehindError(this.table.typeUrl);
    for (const name of changes) {
      if (this.names.has(name)) continue;
      const isThere = this.table.get(name) !== undefined;
      (isThere ? this.additions : this.removals).add(name);
      (isThere ? this.removals : this.additions).delete(name);
    }
    this.#position = this.table.sequence;
  }

  /** Returns the next listed resource that the client does not have; undefined after the last. */
  nextInitial(): Content | undefined {
    for (;;) {
      const next = this.#initial?.next();
      if (next === undefined) return undefined;
      if (next.done === true) {
        this.#endInitial();
        return undefined;
      }
      const { name } = next.value;
      const held = this.#held?.get(name);
      this.#held?.delete(name);
      const content = contentFor(next.value, this.#viewer.zone);
      if (!this.names.has(name) && held !== content.version) return content;
    }
  }

  /** Removes the other resources that the client claims to hold and that do not exist. */
  #endInitial(): void {
    for (const name of this.#held?.keys() ?? []) {
      if (this.table.get(name) === undefined && !this.names.has(name)) this.removals.add(name);
    }
    this.#initial = undefined;
    this.#held = undefined;
  }

  /** Ends the initial set, because a state of the world contains it completely. */
  skipInitial(): void {
    this.#initial = undefined;
    this.#held = undefined;
  }

  /** Records the content that the client gets under a name. */
  sent(name: string, content: Content | undefined): void {
    if (this.names.has(name)) this.names.set(name, content?.version ?? toldAbsent);
  }
}
