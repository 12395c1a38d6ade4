/** Deletes the Secrets of bootstrap tokens that have ended. */
import type { Secret } from "#api/gen/types.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { ignoreGone } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { tokenEndMs, tokenSelector } from "./tokens.ts";

/** Maximum delay that every timer supports. */
const waitMsMax = 86_400_000;

export class TokenCleaner implements ControllerOptions<Secret> {
  readonly name = "token-cleaner-controller";
  readonly workers = 1;
  readonly ref = refs.secrets;
  readonly fieldSelector = tokenSelector;
  readonly when = { on: ["add", "update"] } as const;
  readonly #deps: ControllerDeps;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
  }

  async reconcile({ object: secret }: ReconcileRequest<Secret>): Promise<ReconcileResult> {
    const endMs = secret && tokenEndMs(secret);
    if (secret === undefined || endMs === undefined) return undefined;
    const waitMs = endMs - this.#deps.clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: Math.min(waitMs, waitMsMax) };
    const { namespace = "", name = "", uid = "" } = secret.metadata ?? {};
    const preconditions = { uid };
    await this.#deps.client
      .delete(refs.secrets, namespace, name, { preconditions })
      .catch(ignoreGone);
    return undefined;
  }
}
