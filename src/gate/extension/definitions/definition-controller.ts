/**
 * Maintains the status of definitions: names, conditions, and the cleanup of deleted ones. It runs in the API server,
 * as in upstream, and writes as the server itself.
 *
 * Holds  level-triggered: a write depends on the stored definition and the names of its group, not on the change that
 *        triggered the run. A settled definition is not written again.
 * Order  one definition at a time: names are assigned in the order of the requests.
 * Fails  a failed write is logged and tried again after a second.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Catalog } from "#apiserver/kind.ts";
import { trackServerWrite } from "#apiserver/managed.ts";
import { must } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { Cleanup } from "./cleanup.ts";
import {
  approvalCondition,
  type Said,
  structuralCondition,
  withCondition,
  withoutCondition,
} from "./conditions.ts";
import { asDefinition, type Definition } from "./definition.ts";
import type { DefinitionCatalog } from "./definition-catalog.ts";
import { settleNames, takenNames } from "./names.ts";

interface ControllerDeps {
  readonly definitions: DefinitionCatalog;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
}

interface Judged {
  readonly uid: string;
  readonly generation: number;
  readonly said: Said | undefined;
}

const retryMs = 1_000;

export class DefinitionController {
  readonly #deps: ControllerDeps;
  readonly #cleanup: Cleanup;
  /** Names of definitions to process, in order. At most one entry per definition. */
  readonly #due = new Set<string>();
  /** By name: condition found for the schemas of a definition's generation. */
  readonly #judged = new Map<string, Judged>();
  readonly #timers = new Map<string, Timer>();
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#cleanup = new Cleanup({
      ...deps,
      write: (name, change) => this.#write(name, change),
    });
  }

  start(): void {
    const { definitions } = this.#deps;
    definitions.onChange((names) => this.#enqueue(names));
    this.#enqueue([...definitions.names()]);
  }

  /** Stops the controller. Resolves when its current write has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#due.clear();
    for (const timer of this.#timers.values()) timer.cancel();
    await this.#running;
  }

  #enqueue(names: Iterable<string>): void {
    if (this.#isClosed) return;
    for (const name of names) this.#due.add(name);
    if (this.#due.size === 0) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Processes all due definitions. Never rejects. */
  async #run(): Promise<void> {
    // Listeners run while the caches apply a change, so nothing is written before they have returned.
    await Promise.resolve();
    for (const name of this.#due) {
      if (this.#isClosed) return;
      this.#due.delete(name);
      try {
        await this.#reconcile(name);
      } catch (error) {
        this.#deps.log.warn("a definition was not settled", { name, error: String(error) });
        this.#again(name, retryMs);
      }
    }
  }

  #again(name: string, delayMs: number): void {
    if (this.#isClosed) return;
    this.#timers.get(name)?.cancel();
    const timer = this.#deps.clock.after("extension.definitions", delayMs, () => {
      this.#timers.delete(name);
      this.#enqueue([name]);
    });
    this.#timers.set(name, timer);
  }

  async #reconcile(name: string): Promise<void> {
    const definition = this.#deps.definitions.read(name);
    if (definition === undefined) {
      this.#cleanup.forget(name);
      this.#judged.delete(name);
      // The names of the deleted definition are free again.
      this.#enqueueGroup(name, name.slice(name.indexOf(".") + 1));
      return;
    }
    const hadNames = definition.status?.acceptedNames;
    const written = await this.#write(name, (current) => this.#settle(current));
    if (written === undefined) return;
    const { group } = written.spec;
    if (!jsonEqual(hadNames, written.status?.acceptedNames)) this.#enqueueGroup(name, group);
    const delayMs = await this.#cleanup.run(written);
    if (delayMs !== undefined) this.#again(name, delayMs);
  }

  #enqueueGroup(name: string, group: string): void {
    const others = [...this.#deps.definitions.inGroup(group)].filter(
      (other) => other.name !== name && other.isWaitingForNames,
    );
    this.#enqueue(others.map((other) => other.name));
  }

  #settle(definition: Definition): Definition {
    const { definitions, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const { group } = definition.spec;
    const accepted = [...definitions.inGroup(group)].map((other) => other.acceptedNames);
    const approval = approvalCondition(definition);
    const approved =
      approval === undefined ? definition : withCondition(definition, approval, nowMs);
    return settleNames(this.#judge(approved, nowMs), takenNames(accepted), nowMs);
  }

  #judge(definition: Definition, nowMs: number): Definition {
    const { name = "", uid = "", generation = 0 } = definition.metadata ?? {};
    const known = this.#judged.get(name);
    const isKnown = known?.uid === uid && known.generation === generation;
    const said = isKnown ? known.said : structuralCondition(definition);
    if (!isKnown) this.#judged.set(name, { uid, generation, said });
    if (said === undefined) return withoutCondition(definition, "NonStructuralSchema");
    return withCondition(definition, said, nowMs);
  }

  /** @returns the definition after the write. Undefined: it no longer exists. */
  async #write(
    name: string,
    change: (current: Definition) => Definition,
  ): Promise<Definition | undefined> {
    const current = this.#deps.definitions.read(name);
    if (current === undefined || change(current) === current) return current;
    const kind = must(
      this.#deps.catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
      "definitions are built in",
    );
    const store = must(kind.store, "definitions are stored");
    const transform = (live: AnyObject | undefined): AnyObject => {
      const old = must(live, "an update of what is there");
      const next = change(asDefinition(old)) as unknown as AnyObject;
      if (next === old) return old;
      const nowMs = this.#deps.clock.nowMs();
      const write = { subresource: "status", manager: "kube-apiserver", nowMs, live: old, next };
      return trackServerWrite(kind, write);
    };
    try {
      const options = { subresource: "status", dryRun: false };
      const { object, isDeleted } = await store.update("", name, transform, options);
      return isDeleted ? undefined : asDefinition(object.object);
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return undefined;
      throw error;
    }
  }
}
