/**
 * Maintains the status of ValidatingAdmissionPolicies: `observedGeneration`, and `typeChecking` with a warning for each
 * expression that does not fit a kind that the policy covers.
 *
 * Holds  as in upstream, a generation is checked once: a kind that is defined later is checked only when the policy
 *        changes. The status is written by apply, so that a kube-controller-manager in the same cluster finds its own
 *        field manager.
 * Cost   one compilation per expression and kind; the event loop is yielded after each.
 * After  pkg/controller/validatingadmissionpolicystatus, 1.36.
 */
import type { ValidatingAdmissionPolicy } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { type Steps, stepsInTurns } from "#base/steps.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { sleep } from "#platform/clock.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";

export const policyStatusRole: ControllerRole = {
  account: "validatingadmissionpolicy-status-controller",
  rules: [
    "read | admissionregistration.k8s.io | validatingadmissionpolicies",
    "get,patch,update | admissionregistration.k8s.io | validatingadmissionpolicies/status",
    "events",
  ],
};

type WarningSteps = Steps<readonly { readonly fieldRef: string; readonly warning: string }[]>;

/** @returns upstream's ExpressionWarnings; a promise if the kinds have to be read first. */
export type CheckPolicyTypes = (
  policy: AnyObject,
  signal: AbortSignal,
) => WarningSteps | Promise<WarningSteps>;

const fieldManager = "validatingadmissionpolicy-status";

export class PolicyStatusController implements ControllerOptions<ValidatingAdmissionPolicy> {
  readonly name = "validatingadmissionpolicy-status-controller";
  readonly workers = 5;
  readonly ref = refs.validatingadmissionpolicies;
  readonly #deps: ControllerDeps;
  readonly #check: CheckPolicyTypes;

  constructor(deps: ControllerDeps, check: CheckPolicyTypes) {
    this.#deps = deps;
    this.#check = check;
  }

  async reconcile({
    key,
    object: policy,
    signal,
  }: ReconcileRequest<ValidatingAdmissionPolicy>): Promise<void> {
    const generation = policy?.metadata?.generation ?? 0;
    if (policy === undefined || generation <= (policy.status?.observedGeneration ?? 0)) return;
    const turn = (): Promise<void> => sleep(this.#deps.clock, "controllers.delay", 0, signal);
    const steps = await this.#check(policy as unknown as AnyObject, signal); // a generated kind as a bag of fields
    const warnings = await stepsInTurns(steps, turn, 1);
    if (!signal.aborted) await this.#writeStatus(key, generation, warnings);
  }

  async #writeStatus(
    name: string,
    observedGeneration: number,
    warnings: readonly object[],
  ): Promise<void> {
    const ref = refs.validatingadmissionpolicies;
    const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
    const applied = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      status: { observedGeneration, typeChecking },
    };
    const options = { subresource: "status", fieldManager, force: true };
    try {
      await this.#deps.client.patch(ref, "", name, "apply", applied, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
