/**
 * Maintains the flow control objects that a server needs. The mandatory ones are restored at once when they are deleted
 * or changed. All bootstrap objects are checked every minute, as in upstream. Each schema gets a condition that says
 * whether its priority level exists.
 *
 * Holds  one run at a time; a change during a run causes another run after it.
 * Fails  a failed run is logged and repeated after a second.
 */
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { ResourceWatch } from "#registry/resource-store.ts";
import { ensureFlowControl } from "./bootstrap.ts";
import { tellDangling } from "./flow-schema-status.ts";
import type { Catalog } from "./kind.ts";

/** Upstream's period in ms. */
const everyMs = 60_000;
const retryMs = 1_000;
const group = "flowcontrol.apiserver.k8s.io";
const resources = ["flowschemas", "prioritylevelconfigurations"] as const;

interface KeeperDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly log: Log;
}

export class FlowControlKeeper {
  readonly #deps: KeeperDeps;
  readonly #watches = new Map<string, ResourceWatch>();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isDue = false;
  #closed = false;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#due();
  }

  /** Resolves when a run in progress has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    for (const watch of this.#watches.values()) watch.close();
    await this.#running;
  }

  #due(): void {
    if (this.#closed) return;
    this.#isDue = true;
    this.#running ??= this.#runWhileDue().finally(() => {
      this.#running = undefined;
    });
  }

  /** Never rejects. */
  async #runWhileDue(): Promise<void> {
    // A watch delivers events while it opens, and `#running` must be set by then.
    await Promise.resolve();
    let nextMs = everyMs;
    while (this.#isDue && !this.#closed) {
      this.#isDue = false;
      try {
        for (const resource of resources) await this.#watch(resource);
        await ensureFlowControl(this.#deps);
        await tellDangling(this.#deps);
        nextMs = everyMs;
      } catch (error) {
        this.#deps.log.warn("flow control objects were not put back", { error: String(error) });
        nextMs = retryMs;
      }
    }
    this.#timer?.cancel();
    if (this.#closed) return;
    this.#timer = this.#deps.clock.after("flowcontrol.ensure", nextMs, () => this.#due());
  }

  /** Opens the watch if it is not open; a watch that ended is reopened by the next run. */
  async #watch(resource: string): Promise<void> {
    if (this.#watches.has(resource)) return;
    const store = this.#deps.catalog.find(group, "v1", resource)?.store;
    if (store === undefined) return;
    const watch = await store.watch(
      "",
      { allowBookmarks: false },
      {
        deliver: () => {
          this.#due();
          return true;
        },
        end: () => void this.#watches.delete(resource),
      },
    );
    this.#watches.set(resource, watch);
  }
}
