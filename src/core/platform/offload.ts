/**
 * Work on another thread: for what is pure, linear and too long for the loop (`docs/adr/0017`).
 *
 * Holds  a task ends: with its output, or refused for its time, its memory or the queue before it.
 */
export type OffloadResult<Output> =
  | { readonly kind: "done"; readonly output: Output }
  /** The task took longer, or more memory, than the pool allows a task: its thread was ended. */
  | { readonly kind: "exceeded" }
  /** The maximum number of tasks is waiting already. */
  | { readonly kind: "busy" };

export interface Offload<Input, Output> {
  /** Runs a task. `input` is plain data and is copied. Rejects when the thread failed for a reason other than the input. */
  run(input: Input): Promise<OffloadResult<Output>>;
}
