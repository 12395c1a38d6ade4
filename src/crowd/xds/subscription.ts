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

/** A client of these subscribes to every listed resource. */
export const everything = "*";
/** What a named resource is to the client, if not a version that it holds. */
export const notSent = "";
export const toldAbsent = "absent";

/** What the stream knows of its client. */
export interface Viewer {
  readonly zone: string;
  maySee(scope: string): boolean;
  /** Asks for the right to see it, if there is room; until it is answered nothing is sent. */
  want(scope: string): void;
  /** There is something to send. */
  wake(): void;
}

/** The stream is too far behind to know what changed. */
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
  /** By name: the version that the client holds, `notSent` or `toldAbsent`. */
  readonly names = new Map<string, string>();
  readonly additions = new Set<string>();
  readonly removals = new Set<string>();
  /** The nonce that is neither acknowledged nor refused yet. */
  outstanding: string | undefined;
  /** "": nothing was sent. */
  lastNonce = "";
  /** Everything was asked for and nothing of it was answered: an empty answer says that there is nothing. */
  isAsked = false;
  /** Of the state of the world: no name was ever said, which means everything until one is. */
  meansAll = false;
  /** Of the state of the world: what was sent last, or what the client came with. */
  version = "";
  /** Undefined: only what it named. */
  #position: number | undefined;
  #initial: Iterator<Resource, undefined> | undefined;
  /** What the client said that it holds, before all of it is compared. */
  #held: Map<string, string> | undefined;

  /** Heartbeats that are still to be sent. */
  beats: Iterator<Uint8Array, undefined> | undefined;

  constructor(table: ResourceTable, viewer: Viewer, form: ResourceForm) {
    this.table = table;
    this.form = form;
    this.#viewer = viewer;
  }

  get followsAll(): boolean {
    return this.#position !== undefined;
  }

  /** Listed resources that the client does not have are still to be sent. */
  get isInitial(): boolean {
    return this.#initial !== undefined;
  }

  /** Changes of listed resources are not looked at while a response is outstanding. */
  get hasAdditions(): boolean {
    const isBehind = this.#position !== undefined && this.#position < this.table.sequence;
    return isBehind || this.additions.size > 0 || this.#initial !== undefined;
  }

  get isIdle(): boolean {
    return this.outstanding === undefined && !this.hasAdditions && this.removals.size === 0;
  }

  /** `held`: what the client has already. */
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

  /** @returns whether it was followed. */
  unfollow(name: string): boolean {
    if (!this.names.delete(name)) return false;
    this.table.unfollow(name, this);
    this.additions.delete(name);
    this.removals.delete(name);
    // The client still follows it as one of all, and is sent what it is now.
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
    // Whether the client may see it may not be known yet.
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

  /** What the client may see under that name. */
  contentOf(name: string): Content | undefined {
    const resource = this.table.get(name);
    if (resource === undefined) return undefined;
    const { scope, alsoOf = [] } = resource;
    if (![scope, ...alsoOf].every((one) => this.#viewer.maySee(one))) return undefined;
    return contentFor(resource, this.#viewer.zone);
  }

  /** Sorts the changes of listed resources into additions and removals. Throws TooFarBehindError. */
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

  /** The next listed resource that the client does not have; undefined: there is none left. */
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

  /** What else the client holds is gone, unless it changed meanwhile. */
  #endInitial(): void {
    for (const name of this.#held?.keys() ?? []) {
      if (this.table.get(name) === undefined && !this.names.has(name)) this.removals.add(name);
    }
    this.#initial = undefined;
    this.#held = undefined;
  }

  /** Of a state of the world: all of it is sent, so nothing is left to walk through. */
  skipInitial(): void {
    this.#initial = undefined;
    this.#held = undefined;
  }

  /** Notes what the client is sent under a name. */
  sent(name: string, content: Content | undefined): void {
    if (this.names.has(name)) this.names.set(name, content?.version ?? toldAbsent);
  }
}
