/**
 * The time in which a definition's specification and names stay the same. What was made under one epoch
 * is never served under another.
 *
 * Holds  1. no write made under an ended epoch goes to the store; 2. its watches end with it, in the turn
 *        in which the new definition is applied; 3. `isSettled(revision)` only for an object that was
 *        written under this epoch. A write that had gone to the store when its epoch ended may get a
 *        revision above the definition's: until all such writes are answered no object is settled.
 */
import { assert } from "#base/assert.ts";
import { failure, forbidden } from "#api/status.ts";
import type { GroupResource } from "#api/object.ts";
import type { WatchRegister, WatchStream } from "#server/watch-stream.ts";

export class Epoch implements WatchRegister {
  readonly #resource: GroupResource;
  readonly #streams = new Set<WatchStream>();
  readonly #endings: (() => void)[] = [];
  /** Objects up to this revision may have been written under another definition. */
  #since: number;
  /** Writes on their way to the store: of this epoch, and of those before it. */
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

  /** The stored bytes of an object at `revision` are as this epoch's schemas make them. */
  isSettled(revision: number): boolean {
    return this.#olderWrites === 0 && revision > this.#since;
  }

  /** @throws ApiError 503 when the definition has changed, 403 for a new object while it goes. */
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

  /** Ends its watches; `next` is what the definition is now, undefined when it is gone. */
  end(next: Epoch | undefined): void {
    this.#hasEnded = true;
    this.#next = next;
    if (next !== undefined) next.#olderWrites = this.#writes + this.#olderWrites;
    for (const stream of this.#streams) stream.end();
    for (const ending of this.#endings.splice(0)) ending();
  }

  /** One per version of the definition. */
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

  /** What is answered to a request that an ended epoch cannot answer any more. */
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
