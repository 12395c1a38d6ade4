/**
 * The engine that keeps nothing: durable means "sequenced". For tests, `up --ephemeral`, and as the
 * simplest reading of the engine contract.
 */
import { assert } from "#base/assert.ts";
import type {
  AppendBatch,
  CheckpointSource,
  Engine,
  EngineStats,
  Opened,
  ReplaySink,
} from "./engine.ts";

export class MemoryEngine implements Engine {
  readonly room = { kind: "ok" } as const;
  #open = false;

  open(_replay: ReplaySink, epoch: number | "next"): Promise<Opened> {
    assert(!this.#open, "engine opened twice");
    this.#open = true;
    return Promise.resolve({ epoch: epoch === "next" ? 1 : epoch });
  }

  append(_batch: AppendBatch): Promise<void> {
    assert(this.#open, "append to a closed engine");
    return Promise.resolve();
  }

  wantsCheckpoint(_revision: number): boolean {
    return false;
  }

  checkpoint(_source: CheckpointSource): Promise<void> {
    return Promise.resolve();
  }

  stats(): EngineStats {
    return { kind: "memory", storedBytes: 0, logBytes: 0, checkpointRevision: 0 };
  }

  close(): Promise<void> {
    this.#open = false;
    return Promise.resolve();
  }
}
