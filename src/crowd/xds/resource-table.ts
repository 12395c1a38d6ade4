/**
 * The resources of one type by name, and who follows them.
 *
 * Holds  a change costs work for the followers that named the resource, and for those of everything; of
 *        nobody else. Sequence numbers count the changes of listed resources: a follower of everything is
 *        a position in them.
 * Bounds the last `changesMax` names of changes and `formerMax` contents of deleted resources are kept.
 */
import { assert } from "#base/assert.ts";
import type { TableLimits } from "./limits.ts";
import type { Content, Resource } from "./resource.ts";

export interface Follower {
  /** Called when a resource that the follower named is set or deleted. */
  changed(name: string): void;
  /** Called when a listed resource is set or deleted. */
  listChanged(): void;
}

interface Entry {
  readonly resource: Resource;
  readonly changedAt: number;
}

export class ResourceTable {
  readonly typeUrl: string;
  readonly #limits: TableLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #followers = new Map<string, Set<Follower>>();
  readonly #followersOfAll = new Set<Follower>();
  /** Names of the changes `#sequence - #changes.length + 1` to `#sequence`. */
  #changes: string[] = [];
  #sequence = 0;
  /** Last contents of deleted resources. */
  readonly #former = new Map<string, Content>();

  constructor(typeUrl: string, limits: TableLimits) {
    this.typeUrl = typeUrl;
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Sequence number of the newest change of a listed resource. */
  get sequence(): number {
    return this.#sequence;
  }

  get(name: string): Resource | undefined {
    return this.#entries.get(name)?.resource;
  }

  /** Returns the content of a deleted resource, if it is still known. */
  former(name: string): Content | undefined {
    return this.#former.get(name);
  }

  /** Sets a resource. Does nothing when the content is unchanged. */
  set(resource: Resource): void {
    const { name } = resource;
    const before = this.#entries.get(name)?.resource;
    const same =
      before?.content.version === resource.content.version &&
      String(before.alsoOf) === String(resource.alsoOf);
    if (same && !hasVariants(before) && !hasVariants(resource)) return;
    assert(before === undefined || before.isListed === resource.isListed, "listed at times", {
      name,
    });
    this.#former.delete(name);
    if (resource.isListed) this.#note(name);
    this.#entries.set(name, { resource, changedAt: this.#sequence });
    this.#tell(name, resource);
  }

  delete(name: string): void {
    const before = this.#entries.get(name)?.resource;
    if (before === undefined) return;
    this.#entries.delete(name);
    this.#former.set(name, before.content);
    if (this.#former.size > this.#limits.formerMax) {
      const [oldest = ""] = this.#former.keys();
      this.#former.delete(oldest);
    }
    if (before.isListed) this.#note(name);
    this.#tell(name, before);
  }

  /** Yields the listed resources without a change since `sequence`, even while resources are being set. */
  *listedUntil(sequence: number): Generator<Resource, undefined> {
    for (const { resource, changedAt } of this.#entries.values()) {
      if (resource.isListed && changedAt <= sequence) yield resource;
    }
    return undefined;
  }

  *listed(): Generator<Resource, undefined> {
    for (const { resource } of this.#entries.values()) if (resource.isListed) yield resource;
    return undefined;
  }

  /** Names of the changes after `sequence`, oldest first, with repeats. Undefined: they are no longer known. */
  changesAfter(sequence: number): readonly string[] | undefined {
    const missed = this.#sequence - sequence;
    if (missed > this.#changes.length) return undefined;
    return missed === 0 ? [] : this.#changes.slice(-missed);
  }

  follow(name: string, follower: Follower): void {
    const followers = this.#followers.get(name);
    if (followers === undefined) this.#followers.set(name, new Set([follower]));
    else followers.add(follower);
  }

  unfollow(name: string, follower: Follower): void {
    const followers = this.#followers.get(name);
    followers?.delete(follower);
    if (followers?.size === 0) this.#followers.delete(name);
  }

  followAll(follower: Follower): void {
    this.#followersOfAll.add(follower);
  }

  unfollowAll(follower: Follower): void {
    this.#followersOfAll.delete(follower);
  }

  #note(name: string): void {
    this.#sequence++;
    this.#changes.push(name);
    const { changesMax } = this.#limits;
    // Trims the list, which is copied once per `changesMax` changes.
    if (this.#changes.length >= 2 * changesMax) this.#changes = this.#changes.slice(-changesMax);
  }

  #tell(name: string, { isListed }: Resource): void {
    for (const follower of this.#followers.get(name) ?? []) follower.changed(name);
    if (!isListed) return;
    for (const follower of this.#followersOfAll) follower.listChanged();
  }
}

/** Whether the content differs by zone; that may change while `content` does not. */
function hasVariants(resource: Resource | undefined): boolean {
  return resource?.contentIn !== undefined;
}
