/**
 * Signs ConfigMap kube-public/cluster-info by every bootstrap token that may sign. The signature proves to the
 * holder of the token that the authority in that map is the cluster's (`kubeadm join`).
 *
 * Holds  signatures of tokens that ended, were deleted or may not sign are taken away.
 * After  upstream's bootstrapsigner, which leaves an ended token's signature until the token is deleted.
 */
import type { ConfigMap, Secret } from "#api/gen/types.ts";
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
import { signedClusterInfo, type SignDetached } from "./cluster-info.ts";
import { signingToken, tokenEndMs, tokenSelector } from "./tokens.ts";

const mapNamespace = "kube-public";
const mapName = "cluster-info";
const mapKey = `${mapNamespace}/${mapName}`;
/** A wait that no timer is too short for. */
const waitMsMax = 86_400_000;

export class BootstrapSigner implements Controller {
  readonly name = "bootstrap-signer-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #sign: SignDetached;
  readonly #secrets: Informer<Secret>;
  readonly #maps: Informer<ConfigMap>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps, sign: SignDetached) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#sign = sign;
    const fieldSelector = tokenSelector;
    this.#secrets = deps.informers.informer<Secret>(refs.secrets, { fieldSelector });
    this.#maps = deps.informers.informer<ConfigMap>(refs.configmaps);
    this.#loop = queueController(deps, { name: this.name, workers: 1 }, () => this.#reconcile());
    const wake = (): void => this.#loop.queue.add(mapKey);
    const wakeByMap = (map: ConfigMap): void => {
      if (keyOf(map) === mapKey) wake();
    };
    this.#secrets.addHandler({ add: wake, update: wake, delete: wake });
    this.#maps.addHandler({ add: wakeByMap, update: (_old, map) => wakeByMap(map) });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(): Promise<ReconcileResult> {
    const map = this.#maps.get(mapNamespace, mapName);
    if (map === undefined) return undefined;
    const nowMs = this.#clock.nowMs();
    const secrets = this.#secrets.list();
    const tokens = secrets.flatMap((secret) => signingToken(secret, nowMs) ?? []);
    const signed = signedClusterInfo(map, tokens, this.#sign);
    if (signed !== undefined) {
      await this.#client.update(refs.configmaps, mapNamespace, signed).catch(ignoreGone);
    }
    return waitForNext(secrets, nowMs);
  }
}

/** Until the next token ends. */
function waitForNext(secrets: readonly Secret[], nowMs: number): ReconcileResult {
  const ends = secrets.map((secret) => tokenEndMs(secret) ?? Infinity);
  const nextMs = Math.min(...ends.filter((endMs) => endMs > nowMs), Infinity);
  return nextMs === Infinity ? undefined : { requeueAfterMs: Math.min(nextMs - nowMs, waitMsMax) };
}
