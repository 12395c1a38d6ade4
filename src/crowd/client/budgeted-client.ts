/**
 * A client that sends the writes that create or place pods through the recovery budget, so that no loop can omit it:
 * POST of a pod is a `create`, POST of its binding a `bind`. Evictions ask the budget themselves, before they take a
 * worker.
 *
 * Holds  a dry run, and every other call, is passed through unchanged.
 */
import { ApiError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Client, ResourceRef } from "./client.ts";
import type { RecoveryBudget, RecoveryStep } from "./recovery-budget.ts";

export function budgetedClient(client: Client, budget: RecoveryBudget, clock: Clock): Client {
  const paced = <T>(step: RecoveryStep, namespace: string, write: () => Promise<T>): Promise<T> =>
    pacedWrite({ budget, clock }, step, namespace, write);
  return {
    get: (...call) => client.get(...call),
    list: (...call) => client.list(...call),
    create(ref, namespace, object, options) {
      const write = () => client.create(ref, namespace, object, options);
      if (!isPods(ref) || options?.dryRun === true) return write();
      return paced("create", namespace, write);
    },
    createSub(ref, namespace, name, subresource, object) {
      const write = () => client.createSub(ref, namespace, name, subresource, object);
      return isPods(ref) && subresource === "binding" ? paced("bind", namespace, write) : write();
    },
    update: (...call) => client.update(...call),
    patch: (...call) => client.patch(...call),
    delete: (...call) => client.delete(...call),
    deleteCollection: (...call) => client.deleteCollection(...call),
    watch: (...call) => client.watch(...call),
    raw: (...call) => client.raw(...call),
  };
}

interface Pacing {
  readonly budget: RecoveryBudget;
  readonly clock: Clock;
}

/** Waits for its grant, writes, and reports the server's answer to the budget. */
async function pacedWrite<T>(
  { budget, clock }: Pacing,
  step: RecoveryStep,
  namespace: string,
  write: () => Promise<T>,
): Promise<T> {
  const grant = budget.take(step, namespace);
  if (grant !== undefined) await grant;
  return grantedWrite({ budget, clock }, step, write);
}

/** A write for which the grant was taken before. */
export async function grantedWrite<T>(
  { budget, clock }: Pacing,
  step: RecoveryStep,
  write: () => Promise<T>,
): Promise<T> {
  const beganMs = clock.monotonicMs();
  try {
    const result = await write();
    budget.answered(step, clock.monotonicMs() - beganMs, false);
    return result;
  } catch (error) {
    budget.answered(step, clock.monotonicMs() - beganMs, isOverload(error));
    throw error;
  }
}

function isPods({ group, resource }: ResourceRef): boolean {
  return group === "" && resource === "pods";
}

/** Refusals of the request itself (conflict, quota, not found) do not indicate load. */
function isOverload(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  const { code = 0 } = error.status;
  return code === 429 || code >= 500;
}
