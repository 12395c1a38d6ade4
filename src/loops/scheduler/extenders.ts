/**
 * Runs all extenders of a scheduler, one after the other: each filters the nodes that the previous ones left; their
 * scores add up.
 *
 * Why serial: as in upstream, the decision waits for them, and no other decision is made meanwhile. So an extender that
 * hangs delays all Pods by its timeout. Failures of ignorable extenders are ignored.
 */
import type { Node } from "#api/gen/types.ts";
import type { Log } from "#platform/log.ts";
import type { Extender, Failure, Filtered } from "./extender.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Preemption } from "./preemption-candidate.ts";

/** Plugin name under which refusals by extenders are counted. */
export const extenderName = "Extender";

export class Extenders {
  readonly #extenders: readonly Extender[];
  readonly #log: Log;

  constructor(extenders: readonly Extender[], log: Log) {
    this.#extenders = extenders;
    this.#log = log;
  }

  /** Returns the extenders to ask about the Pod. Undefined: no extender is interested in the Pod. */
  for(info: PodInfo): Extenders | undefined {
    if (this.#extenders.length === 0) return undefined;
    const interested = this.#extenders.filter((one) => one.isInterestedIn(info.pod));
    return interested.length === 0 ? undefined : new Extenders(interested, this.#log);
  }

  /** Rejects when an extender fails that is not ignorable. */
  async filter(info: PodInfo, nodes: readonly Node[], signal: AbortSignal): Promise<Filtered> {
    let kept = nodes;
    const failures = new Map<string, Failure>();
    for (const extender of this.#extenders) {
      if (kept.length === 0) break;
      const asked = kept;
      const found = await this.#tried(extender, () => extender.filter(info.pod, asked, signal));
      if (found === undefined) continue;
      ({ kept } = found);
      for (const [name, failure] of found.failures) failures.set(name, failure);
    }
    return { kept, failures };
  }

  /** Returns score additions by node name. Never rejects: without an extender's scores the other scores decide. */
  async prioritize(
    info: PodInfo,
    nodes: readonly Node[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>> {
    const sums = new Map<string, number>();
    const all = this.#extenders.map(async (extender) => {
      try {
        return await extender.prioritize(info.pod, nodes, signal);
      } catch (error) {
        this.#note(extender, error);
        return new Map<string, number>();
      }
    });
    for (const scores of await Promise.all(all)) {
      for (const [name, score] of scores) sums.set(name, (sums.get(name) ?? 0) + score);
    }
    return sums;
  }

  async preempt(
    info: PodInfo,
    candidates: readonly Preemption[],
    podsOn: (nodeName: string) => readonly PodInfo[] | undefined,
    signal: AbortSignal,
  ): Promise<readonly Preemption[]> {
    let left = candidates;
    for (const extender of this.#extenders) {
      if (extender.spec.preemptVerb === undefined || left.length === 0) continue;
      const asked = left;
      const found = await this.#tried(extender, () =>
        extender.preempt(info, asked, podsOn, signal),
      );
      left = found ?? left;
    }
    return left;
  }

  /** The extender that binds the Pod. Undefined: the scheduler binds the Pod. */
  get binder(): Extender | undefined {
    return this.#extenders.find(({ spec }) => spec.bindVerb !== undefined);
  }

  /** Undefined: the extender failed, and it is ignorable. */
  async #tried<T>(extender: Extender, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (!extender.spec.isIgnorable) throw error;
      this.#note(extender, error);
      return undefined;
    }
  }

  #note(extender: Extender, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#log.warn("an extender failed", { extender: extender.spec.urlPrefix, error: message });
  }
}
