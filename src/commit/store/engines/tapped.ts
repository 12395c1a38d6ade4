/**
 * An engine whose durable batches are also passed to a listener in this process, in order, each once.
 *
 * Holds  `onDurable` gets a batch after it is durable and before its `append` resolves: no caller was answered yet.
 */
import type {
  AppendBatch,
  AppendPace,
  CheckpointSource,
  Engine,
  EngineStats,
  FencedError,
  Opened,
  PossibleCheckpoint,
  ReplaySink,
  Room,
  Tail,
} from "./engine.ts";

export class TappedEngine implements Engine {
  readonly pace: AppendPace;
  readonly deposed?: Promise<FencedError>;
  readonly #engine: Engine;
  readonly #onDurable: (batch: AppendBatch) => void;

  /** `onDurable` must not throw. */
  constructor(engine: Engine, onDurable: (batch: AppendBatch) => void) {
    this.#engine = engine;
    this.#onDurable = onDurable;
    this.pace = engine.pace;
    if (engine.deposed !== undefined) this.deposed = engine.deposed;
  }

  get room(): Room {
    return this.#engine.room;
  }

  open(replay: ReplaySink, epoch: number | "next"): Promise<Opened> {
    return this.#engine.open(replay, epoch);
  }

  async append(batch: AppendBatch): Promise<void> {
    await this.#engine.append(batch);
    this.#onDurable(batch);
  }

  lookForRoom(): Promise<Room> {
    return this.#engine.lookForRoom();
  }

  wantsCheckpoint(possible: PossibleCheckpoint): boolean {
    return this.#engine.wantsCheckpoint(possible);
  }

  checkpoint(source: CheckpointSource): Promise<void> {
    return this.#engine.checkpoint(source);
  }

  tail(after: number): Tail {
    return this.#engine.tail(after);
  }

  stats(): EngineStats {
    return this.#engine.stats();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}
