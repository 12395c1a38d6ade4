/**
 * An epoch: the time in which a definition's specification and names stay the same. Results of one epoch are never
 * served in another.
 *
 * Holds  1. No write of an ended epoch goes to the store. 2. The watches of an epoch end with it, in the turn in which
 *        the new definition is applied. 3. `isSettled(revision)` is true only for an object that was written in this
 *        epoch. A write that was already sent to the store when its epoch ended may get a revision above the
 *        definition's: no object is settled until all such writes are answered.
 */
import { assert } from "#base/assert.ts";
import { failure, forbidden } from "#api/status.ts";
import type { GroupResource } from "#api/object.ts";
import type { WatchRegister, WatchStream } from "#server/watch-stream.ts";

export class Epoch implements WatchRegister {
  readonly #resource: GroupResource;
  readonly #streams = new Set<WatchStream>();
  readonly #endings: (() => void)[] = [];
  /** Revision up to which objects may have been written under another definition. */
  #since: number;
  /** Number of writes of this epoch that have not ended, and below: of earlier epochs. */
  #writes = 0;
  #olderWrites = 0;
  #next: Epoch | undefined;
  #hasEnded = false;
  #isTerminating = false;

  constructor(resource: GroupResource, since: number) {
    this.#resource = resource;
    this.#since = since;
  }

  get isTerminating(): boolean {
    return this.#isTerminating;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  set isTerminating(isTerminating: boolean) {
    this.#isTerminating = isTerminating;
  }

  /** Returns whether the stored bytes of an object at `revision` are what this epoch's schemas produce. */
  isSettled(revision: number): boolean {
    return this.#olderWrites === 0 && revision > this.#since;
  }

  /** @throws ApiError 503 if the definition has changed, 403 for a new object while the definition is being deleted. */
  beginWrite(isCreation: boolean): (revision: number) => void {
    if (this.#hasEnded) throw this.changed();
    if (isCreation && this.#isTerminating) throw refuseCreation(this.#resource, "");
    this.#writes++;
    return (revision) => {
      this.#writes--;
      assert(this.#writes >= 0, "more writes ended than began");
      this.#next?.olderWriteEnded(revision);
    };
  }

  olderWriteEnded(revision: number): void {
    this.#olderWrites--;
    assert(this.#olderWrites >= 0, "more writes of older epochs ended than there were");
    this.#since = Math.max(this.#since, revision);
    this.#next?.olderWriteEnded(revision);
  }

  /** Ends the epoch and its watches. `next`: epoch of the changed definition; undefined if the definition is deleted. */
  end(next: Epoch | undefined): void {
    this.#hasEnded = true;
    this.#next = next;
    if (next !== undefined) next.#olderWrites = this.#writes + this.#olderWrites;
    for (const stream of this.#streams) stream.end();
    for (const ending of this.#endings.splice(0)) ending();
  }

  /** Registers a callback for the end of the epoch: one per version of the definition. */
  onEnd(ending: () => void): void {
    this.#endings.push(ending);
  }

  add(stream: WatchStream): void {
    if (this.#hasEnded) stream.end();
    else this.#streams.add(stream);
  }

  delete(stream: WatchStream): void {
    this.#streams.delete(stream);
  }

  /** Returns the error for a request that cannot be answered because its epoch has ended. */
  changed(): Error {
    const { group, resource } = this.#resource;
    const text = `the definition of ${resource}.${group} changed while the request was handled, try again`;
    return failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
  }
}

function refuseCreation(resource: GroupResource, name: string): Error {
  const why = "create not allowed while custom resource definition is terminating";
  return forbidden(resource, name, why);
}
