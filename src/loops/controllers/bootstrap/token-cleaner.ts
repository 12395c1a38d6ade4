/** Deletes the Secrets of bootstrap tokens that have ended. */
import type { Secret } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import { tokenEndMs, tokenSelector } from "./tokens.ts";

/** A wait that no timer is too short for. */
const waitMsMax = 86_400_000;

export class TokenCleaner implements Controller {
  readonly name = "token-cleaner-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #secrets: Informer<Secret>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    const fieldSelector = tokenSelector;
    this.#secrets = deps.informers.informer<Secret>(refs.secrets, { fieldSelector });
    const options = { name: this.name, workers: 1 };
    this.#loop = queueController(deps, options, (key) => this.#reconcile(key));
    const enqueue = (secret: Secret): void => this.#loop.queue.add(keyOf(secret));
    this.#secrets.addHandler({ add: enqueue, update: (_old, secret) => enqueue(secret) });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const secret = this.#secrets.getByKey(key);
    const endMs = secret && tokenEndMs(secret);
    if (secret === undefined || endMs === undefined) return undefined;
    const waitMs = endMs - this.#clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: Math.min(waitMs, waitMsMax) };
    const { namespace = "", name = "", uid = "" } = secret.metadata ?? {};
    const preconditions = { uid };
    await this.#client.delete(refs.secrets, namespace, name, { preconditions }).catch(ignoreGone);
    return undefined;
  }
}
