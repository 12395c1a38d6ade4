/**
 * Finds nodes that pods name but that do not exist: missing from the cache for a whole quarantine, and then confirmed
 * missing by a live GET.
 *
 * Holds  one time per name that pods still use and that is not in the cache.
 */
import type { Client } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Clock } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";

const quarantineMs = 40_000;

export class MissingNodes {
  readonly #client: Client;
  readonly #clock: Clock;
  /** Monotonic time when each node was first missed, by name. */
  readonly #missing = new Map<string, number>();

  constructor({ client, clock }: Pick<ControllerDeps, "client" | "clock">) {
    this.#client = client;
    this.#clock = clock;
  }

  /** `missing`: names that the cache lacks now. @returns those that do not exist. */
  async findGone(missing: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const due = this.#findDue(missing);
    const isGone = await Promise.all(due.map((name) => this.#isGone(name)));
    return new Set(due.filter((_name, at) => isGone[at]));
  }

  #findDue(missing: ReadonlySet<string>): readonly string[] {
    const nowMs = this.#clock.monotonicMs();
    for (const name of this.#missing.keys()) if (!missing.has(name)) this.#missing.delete(name);
    for (const name of missing) if (!this.#missing.has(name)) this.#missing.set(name, nowMs);
    const due = [...this.#missing].filter(([, sinceMs]) => nowMs - sinceMs >= quarantineMs);
    return due.map(([name]) => name);
  }

  /** True only after a 404; after any other error the node is looked up again in the next round. */
  async #isGone(name: string): Promise<boolean> {
    try {
      await this.#client.get(refs.nodes, "", name);
      return false;
    } catch (error) {
      return isNotFound(error);
    }
  }
}
