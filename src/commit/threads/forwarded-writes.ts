/**
 * Writes on their way to the thread that orders them: those of one turn of the loop share a message.
 *
 * Holds  each is answered once: by the writer, or with `stopped` when this thread cannot go on.
 */
import type { Key, LeaseId } from "#store/store.ts";
import type { AnswerResult, ForwardedWrite, FromReader, ToReader } from "./messages.ts";
import type { ThreadPort } from "./thread-port.ts";

interface ForwardedWritesDeps {
  readonly port: ThreadPort<FromReader, ToReader>;
  readonly atEndOfTurn: (f: () => void) => void;
}

type WithoutId<Write> = Write extends unknown ? Omit<Write, "id"> : never;
type PlainWrite = WithoutId<Exclude<ForwardedWrite, { kind: "put" }>>;

export class ForwardedWrites {
  readonly #deps: ForwardedWritesDeps;
  readonly #pending = new Map<number, (result: AnswerResult) => void>();
  #writes: ForwardedWrite[] = [];
  #values: Uint8Array[] = [];
  #valueBytes = 0;
  #lastId = 0;
  #stopped: string | undefined;

  constructor(deps: ForwardedWritesDeps) {
    this.#deps = deps;
  }

  /** Number of writes that have not been answered. */
  get count(): number {
    return this.#pending.size;
  }

  /** `value` is borrowed until the promise settles. */
  put(
    key: Key,
    value: Uint8Array,
    guard: number | undefined,
    lease: LeaseId | undefined,
  ): Promise<AnswerResult> {
    const start = this.#valueBytes;
    this.#valueBytes += value.length;
    this.#values.push(value);
    const id = ++this.#lastId;
    return this.#send({ kind: "put", id, key, start, end: this.#valueBytes, guard, lease });
  }

  send(write: PlainWrite): Promise<AnswerResult> {
    return this.#send({ ...write, id: ++this.#lastId });
  }

  answered(id: number, result: AnswerResult): void {
    this.#pending.get(id)?.(result);
    this.#pending.delete(id);
  }

  /** Answers all pending writes, and all later ones, with `stopped`. */
  stop(message: string): void {
    this.#stopped = message;
    for (const resolve of this.#pending.values()) resolve({ kind: "stopped", message });
    this.#pending.clear();
  }

  #send(write: ForwardedWrite): Promise<AnswerResult> {
    if (this.#stopped !== undefined)
      return Promise.resolve({ kind: "stopped", message: this.#stopped });
    if (this.#writes.push(write) === 1) this.#deps.atEndOfTurn(() => this.#flush());
    return new Promise((resolve) => this.#pending.set(write.id, resolve));
  }

  #flush(): void {
    const writes = this.#writes;
    const values = new Uint8Array(this.#valueBytes);
    let at = 0;
    for (const value of this.#values) {
      values.set(value, at);
      at += value.length;
    }
    this.#writes = [];
    this.#values = [];
    this.#valueBytes = 0;
    if (this.#stopped === undefined) this.#deps.port.post({ writes, values }, [values.buffer]);
  }
}
