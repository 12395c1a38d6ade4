/**
 * The status of ValidatingAdmissionPolicies: `observedGeneration`, and `typeChecking` with a warning for each expression
 * that does not fit a kind the policy is about.
 *
 * Holds  a generation is checked once, as upstream: a kind that is defined later is seen when the policy changes.
 *        The status is applied, so that a kube-controller-manager beside it finds its own field manager.
 * Cost   one compilation per expression and kind; the event loop is given back after each.
 * After  pkg/controller/validatingadmissionpolicystatus, 1.36.
 */
import type { ValidatingAdmissionPolicy } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { type Steps, stepsInTurns } from "#base/steps.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import { sleep, type Clock } from "#platform/clock.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
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

/** @returns upstream's ExpressionWarnings; a promise where the kinds are read first. */
export type CheckPolicyTypes = (
  policy: AnyObject,
  signal: AbortSignal,
) => WarningSteps | Promise<WarningSteps>;

/** Upstream's --concurrent-validating-admission-policy-status-syncs. */
const workers = 5;
const fieldManager = "validatingadmissionpolicy-status";

export class PolicyStatusController implements Controller {
  readonly name = "validatingadmissionpolicy-status-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #check: CheckPolicyTypes;
  readonly #policies: Informer<ValidatingAdmissionPolicy>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps, check: CheckPolicyTypes) {
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#check = check;
    const ref = refs.validatingadmissionpolicies;
    this.#policies = deps.informers.informer<ValidatingAdmissionPolicy>(ref);
    this.#loop = queueController(deps, { name: this.name, workers }, (key, signal) =>
      this.#reconcile(key, signal),
    );
    this.#policies.addHandler({
      batch: (changes) => {
        for (const { object } of changes) this.#loop.queue.add(object.metadata?.name ?? "");
      },
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const policy = this.#policies.getByKey(key);
    const generation = policy?.metadata?.generation ?? 0;
    if (policy === undefined || generation <= (policy.status?.observedGeneration ?? 0)) return;
    const turn = (): Promise<void> => sleep(this.#clock, "controllers.delay", 0, signal);
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
      await this.#client.patch(ref, "", name, "apply", applied, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
