/** A chunk store in memory. Each request takes time and may fail, even after it took effect. */
import type { Clock } from "#platform/clock.ts";
import type { FakeRandom } from "#platform/testing/random.ts";
import type { ChunkName, ChunkStore } from "../chunk-store.ts";

const delayMsMax = 50;

class ChunksAwayError extends Error {
  constructor() {
    super("no answer came");
    this.name = "ChunksAwayError";
  }
}

export class ModelChunks {
  hasFaults = true;
  readonly #chunks = new Map<string, Uint8Array>();

  count(place: string, id: string): number {
    return [...this.#chunks.keys()].filter((key) => key.startsWith(`${place}/${id}/`)).length;
  }

  /** The store as one process sees it. */
  store(clock: Clock, random: FakeRandom): ChunkStore {
    const carryOut = <Result>(run: () => Result): Promise<Result> =>
      new Promise((resolve, reject) => {
        clock.after("store.log", random.below(delayMsMax), () => {
          const fault = this.hasFaults ? random.below(20) : 20;
          if (fault === 0) return reject(new ChunksAwayError());
          const result = run();
          if (fault === 1) return reject(new ChunksAwayError());
          clock.after("store.log", random.below(delayMsMax), () => resolve(result));
        });
      });
    return {
      put: (name, bytes) => carryOut(() => void this.#chunks.set(keyOf(name), bytes.slice())),
      get: (name) => carryOut(() => this.#chunks.get(keyOf(name))?.slice()),
      removeBefore: (place, id) => carryOut(() => this.#removeBefore(place, id)),
    };
  }

  #removeBefore(place: string, id: string): void {
    for (const key of this.#chunks.keys()) {
      if (key.startsWith(`${place}/`) && key < `${place}/${id}/`) this.#chunks.delete(key);
    }
  }
}

function keyOf({ place, id, number }: ChunkName): string {
  return `${place}/${id}/${number}`;
}
