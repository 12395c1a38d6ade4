/**
 * Cleans up a definition that is being deleted: deletes its instances, then removes its finalizer. After
 * controller/finalizer/crd_finalizer.go.
 *
 * Holds  the finalizer is removed when no instance is left, and none is created later. Creations are refused from the
 *        turn in which the deletion mark is applied (epoch.ts). Creations that were on their way to the store by then
 *        are stored before the deletion's status, which is written after the mark.
 */
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import { type Said, terminating, withCondition } from "./conditions.ts";
import { cleanupFinalizer, type Definition, hasCondition } from "./definition.ts";
import type { DefinitionCatalog } from "./definition-catalog.ts";

type Write = (
  name: string,
  change: (current: Definition) => Definition,
) => Promise<Definition | undefined>;

interface CleanupDeps {
  readonly definitions: DefinitionCatalog;
  readonly clock: Clock;
  readonly log: Log;
  readonly write: Write;
}

/** Interval at which instances that have finalizers are checked again. */
const lookMs = 1_000;
/** Time after which the status reports instances that still exist. */
const patienceMs = 60_000;
/** Maximum number of concurrent deletions. */
const batchSize = 64;

export class Cleanup {
  readonly #deps: CleanupDeps;
  /** By name of the definition: monotonic time at which the cleanup began. */
  readonly #sinceMs = new Map<string, number>();

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  forget(name: string): void {
    this.#sinceMs.delete(name);
  }

  /** @returns the time until the next check. Undefined: no work is left. */
  async run(definition: Definition): Promise<number | undefined> {
    const { name = "", deletionTimestamp, finalizers = [] } = definition.metadata ?? {};
    if (deletionTimestamp === undefined || !finalizers.includes(cleanupFinalizer)) return undefined;
    const { clock } = this.#deps;
    if (!this.#sinceMs.has(name)) {
      this.#sinceMs.set(name, clock.monotonicMs());
      await this.#say(name, inProgress);
    }
    const said = await this.#empty(definition);
    if (said.status === "True") {
      const isLate = clock.monotonicMs() - (this.#sinceMs.get(name) ?? 0) >= patienceMs;
      if (isLate || said !== waiting) await this.#say(name, said);
      return lookMs;
    }
    this.forget(name);
    await this.#finish(name, said);
    return undefined;
  }

  async #empty(definition: Definition): Promise<Said> {
    const { group, names } = definition.spec;
    const { definitions } = this.#deps;
    if (definitions.overlapsBuiltin({ group, resource: names.plural })) return overlapping;
    if (!hasCondition(definition, "Established")) return neverEstablished;
    const store = definitions.instances(definition.metadata?.name ?? "");
    if (store === undefined) return neverEstablished;
    const failures = await this.#deleteAll(store);
    if (failures.length > 0) {
      const message = `could not issue all deletes: ${failures.slice(0, 5).join(", ")}`;
      return terminating("True", "InstanceDeletionFailed", message);
    }
    return store.size === 0 ? completed : waiting;
  }

  /** Deletes directly in the store, as upstream: admission must not prevent the end of a kind. */
  async #deleteAll(store: ResourceStore): Promise<readonly string[]> {
    const failures: string[] = [];
    const going = store
      .peekList("")
      .filter(({ object }) => object.metadata?.deletionTimestamp === undefined);
    for (let at = 0; at < going.length; at += batchSize) {
      const batch = going.slice(at, at + batchSize);
      await Promise.all(
        batch.map(({ namespace, name }) =>
          store.delete(namespace, name, {}, { dryRun: false }).catch((error: unknown) => {
            if (!(error instanceof ApiError && error.code === 404)) failures.push(String(error));
          }),
        ),
      );
    }
    return failures;
  }

  async #say(name: string, said: Said): Promise<void> {
    const { clock, write } = this.#deps;
    await write(name, (current) => withCondition(current, said, clock.nowMs()));
  }

  async #finish(name: string, said: Said): Promise<void> {
    const { clock, write } = this.#deps;
    await write(name, (current) => {
      const told = withCondition(current, said, clock.nowMs());
      const finalizers = (told.metadata?.finalizers ?? []).filter(
        (one) => one !== cleanupFinalizer,
      );
      return { ...told, metadata: { ...told.metadata, finalizers } };
    });
  }
}

const inProgress = terminating(
  "True",
  "InstanceDeletionInProgress",
  "CustomResource deletion is in progress",
);
const waiting = terminating(
  "True",
  "InstanceDeletionCheck",
  "could not confirm zero CustomResources remaining: context deadline exceeded",
);
const completed = terminating("False", "InstanceDeletionCompleted", "removed all instances");
const neverEstablished = terminating("False", "NeverEstablished", "resource was never established");
const overlapping = terminating(
  "False",
  "OverlappingBuiltInResource",
  "instances overlap with built-in resources in storage",
);
