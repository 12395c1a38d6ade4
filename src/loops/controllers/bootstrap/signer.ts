/**
 * Signs ConfigMap kube-public/cluster-info with every bootstrap token that may sign. The signature proves to the holder
 * of the token that the authority in that map is the cluster's (`kubeadm join`).
 *
 * Holds  signatures of tokens that have expired, were deleted or may not sign are removed.
 * After  upstream's bootstrapsigner, which keeps an expired token's signature until the token is deleted.
 */
import type { ConfigMap, Secret } from "#api/gen/types.ts";
import type { KeyOptions } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { signedClusterInfo, type SignDetached } from "./cluster-info.ts";
import { signingToken, tokenEndMs, tokenSelector } from "./tokens.ts";

const mapNamespace = "kube-public";
const mapName = "cluster-info";
const mapKey = `${mapNamespace}/${mapName}`;
/** Maximum delay that every timer supports. */
const waitMsMax = 86_400_000;

export class BootstrapSigner implements KeyOptions {
  readonly name = "bootstrap-signer-controller";
  readonly workers = 1;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #sign: SignDetached;
  readonly #secrets: Informer<Secret>;
  readonly #maps: Informer<ConfigMap>;

  constructor(deps: ControllerDeps, sign: SignDetached) {
    this.#deps = deps;
    this.#sign = sign;
    const fieldSelector = tokenSelector;
    this.#secrets = deps.informers.informer<Secret>(refs.secrets, { fieldSelector });
    this.#maps = deps.informers.informer<ConfigMap>(refs.configmaps);
    this.sources = [
      watch(this.#secrets, () => mapKey),
      watch(this.#maps, keyOf, { on: ["add", "update"], only: (map) => keyOf(map) === mapKey }),
    ];
  }

  async reconcile(): Promise<ReconcileResult> {
    const map = this.#maps.get(mapNamespace, mapName);
    if (map === undefined) return undefined;
    const nowMs = this.#deps.clock.nowMs();
    const secrets = this.#secrets.list();
    const tokens = secrets.flatMap((secret) => signingToken(secret, nowMs) ?? []);
    const signed = signedClusterInfo(map, tokens, this.#sign);
    if (signed !== undefined) {
      await this.#deps.client.update(refs.configmaps, mapNamespace, signed).catch(ignoreGone);
    }
    return waitForNext(secrets, nowMs);
  }
}

/** Requeues when the next token expires. */
function waitForNext(secrets: readonly Secret[], nowMs: number): ReconcileResult {
  const ends = secrets.map((secret) => tokenEndMs(secret) ?? Infinity);
  const nextMs = Math.min(...ends.filter((endMs) => endMs > nowMs), Infinity);
  return nextMs === Infinity ? undefined : { requeueAfterMs: Math.min(nextMs - nowMs, waitMsMax) };
}
