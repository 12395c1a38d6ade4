/**
 * Work on another thread: for what is pure, linear and too long for the loop (`docs/adr/0017`).
 *
 * Holds  a task ends: with its output, or refused for its time, its memory or the queue before it.
 */
export type OffloadResult<Output> =
  | { readonly kind: "done"; readonly output: Output }
  /** It took longer than the pool gives a task, or more memory: its thread is gone. */
  | { readonly kind: "exceeded" }
  /** As many tasks wait as may. */
  | { readonly kind: "busy" };

export interface Offload<Input, Output> {
  /** `input` is plain data and copied. Rejects when the thread failed for no reason of the input's. */
  run(input: Input): Promise<OffloadResult<Output>>;
}
