/**
 * Maintains the APIServices of the kinds that this server serves: applies autoregister.ts after each change of a kind
 * or an APIService.
 *
 * Holds  one run at a time; changes during a run are handled by the next run. A failed write is logged and tried again
 *        after `retryMs`.
 * Start  after the custom kinds of the store are served: an APIService without served kinds would be deleted.
 */
import { ApiError } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { actionFor, wantedApiServices } from "./autoregister.ts";

const retryMs = 1_000;
/** Maximum number of concurrent writes. At its start a server may find a thousand custom groups. */
const writesAtOnce = 64;

interface RegistrarDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: ResourceStore;
  infos(): readonly ResourceInfo[];
}

export class Registrar {
  readonly #deps: RegistrarDeps;
  readonly #synced = new Set<string>();
  #wanted: ReadonlyMap<string, AnyObject> = new Map();
  #thereAtStart: ReadonlySet<string> = new Set();
  readonly #pending = new Set<string>();
  #areKindsChanged = false;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #state: "new" | "started" | "closed" = "new";

  constructor(deps: RegistrarDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#state = "started";
    const names = this.#deps.store.peekList("").map(({ name }) => name);
    this.#thereAtStart = new Set(names);
    for (const name of names) this.#pending.add(name);
    this.kindsChanged();
  }

  kindsChanged(): void {
    this.#areKindsChanged = true;
    this.#run();
  }

  objectChanged(name: string): void {
    this.#pending.add(name);
    this.#run();
  }

  /** Resolves when no work is left, or when a refused write waits for its retry. For the start and for tests. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async close(): Promise<void> {
    this.#state = "closed";
    this.#timer?.cancel();
    await this.#running;
  }

  #run(): void {
    if (this.#state !== "started") return;
    this.#running ??= this.#runWhileDue().finally(() => {
      this.#running = undefined;
    });
  }

  /** Writes until no name is due. Never rejects. */
  async #runWhileDue(): Promise<void> {
    // Waits for the other changes of this turn, because many kinds change in one turn.
    await Promise.resolve();
    while (this.#state === "started" && (this.#areKindsChanged || this.#pending.size > 0)) {
      if (this.#areKindsChanged) this.#lookAtKinds();
      const batch = [...this.#pending].slice(0, writesAtOnce);
      for (const name of batch) this.#pending.delete(name);
      await Promise.all(batch.map((name) => this.#sync(name)));
    }
  }

  #lookAtKinds(): void {
    this.#areKindsChanged = false;
    const before = this.#wanted;
    this.#wanted = wantedApiServices(this.#deps.infos());
    for (const name of new Set([...before.keys(), ...this.#wanted.keys()])) {
      if (before.has(name) !== this.#wanted.has(name)) this.#pending.add(name);
    }
  }

  async #sync(name: string): Promise<void> {
    try {
      await this.#act(name);
      this.#synced.add(name);
    } catch (error) {
      // Another server has written first. The event of its write makes this name due again.
      if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return;
      this.#deps.log.warn("an APIService was not kept", { name, error: String(error) });
      this.#retry(name);
    }
  }

  #retry(name: string): void {
    this.#pending.delete(name);
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after("aggregation.register", retryMs, () => {
      // All wanted names become due again, so that earlier failures are retried, too.
      for (const each of [name, ...this.#wanted.keys()]) this.#pending.add(each);
      this.#run();
    });
  }

  async #act(name: string): Promise<void> {
    const { store } = this.#deps;
    const wanted = this.#wanted.get(name);
    const current = store.peek("", name)?.object;
    const known = {
      hasSynced: this.#synced.has(name),
      wasThereAtStart: this.#thereAtStart.has(name),
    };
    const write = { dryRun: false };
    switch (actionFor(wanted, current, known)) {
      case "create":
        if (wanted !== undefined) await store.create("", wanted, write);
        return;
      case "update":
        await store.update("", name, (now) => withSpec(now, wanted), { ...write, subresource: "" });
        return;
      case "delete": {
        const uid = current?.metadata?.uid;
        const preconditions = uid === undefined ? {} : { preconditions: { uid } };
        await store.delete("", name, preconditions, write);
        return;
      }
      default:
        return;
    }
  }
}

function withSpec(now: AnyObject | undefined, wanted: AnyObject | undefined): AnyObject {
  if (now === undefined || wanted === undefined) throw new TypeError("an APIService went away");
  if (jsonEqual(now["spec"], wanted["spec"])) return now;
  return { ...now, spec: wanted["spec"] } as AnyObject;
}
