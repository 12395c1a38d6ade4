/**
 * Compiles the matchConditions of a webhook configuration when it is written. Conditions that do not compile are
 * refused. A server without an evaluator refuses all conditions: if it ignored one, it would call a webhook for
 * requests that the webhook must not see.
 */
import type { AdmissionPlugin, AdmissionRequest } from "#admission/admission.ts";
import { failure, type FieldError, invalid } from "#api/status.ts";
import type { ConditionError, ConditionEvaluator, MatchCondition } from "../matching/conditions.ts";

const kinds: ReadonlySet<string> = new Set([
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
]);

interface Webhooks {
  readonly webhooks?: readonly { readonly matchConditions?: readonly MatchCondition[] }[];
}

export function webhookConditions(evaluator: ConditionEvaluator | undefined): AdmissionPlugin {
  return {
    name: "WebhookConditions",
    validate(request) {
      const { info, object, oldObject } = request;
      if (info.group !== "admissionregistration.k8s.io" || !kinds.has(info.kind)) return;
      if (object === undefined || oldObject?.metadata?.deletionTimestamp !== undefined) return;
      const conditions = conditionsOf(object);
      if (conditions.every(({ length }) => length === 0)) return;
      if (evaluator === undefined) throw notEvaluated(request);
      // Unchanged conditions are permitted even if they are invalid, as upstream.
      if (JSON.stringify(conditions) === JSON.stringify(conditionsOf(oldObject ?? {}))) return;
      return refuseFaulty(evaluator, request, conditions);
    },
  };
}

/** @throws ApiError 422. */
async function refuseFaulty(
  evaluator: ConditionEvaluator,
  { info, name }: AdmissionRequest,
  conditions: readonly (readonly MatchCondition[])[],
): Promise<void> {
  const found = await evaluator.errors(conditions);
  const errors = found.flatMap((own, at) => faults(own, conditions[at] ?? [], at));
  if (errors.length > 0) throw invalid(info, name, errors);
}

function conditionsOf(configuration: object): readonly (readonly MatchCondition[])[] {
  const { webhooks = [] } = configuration as Webhooks; // validated
  return webhooks.map(({ matchConditions }) => matchConditions ?? []);
}

function faults(
  errors: readonly ConditionError[],
  conditions: readonly MatchCondition[],
  webhook: number,
): readonly FieldError[] {
  return errors.map(({ index, message }) => {
    const field = `webhooks[${webhook}].matchConditions[${index}].expression`;
    const value = JSON.stringify(conditions[index]?.expression ?? "");
    return { reason: "FieldValueInvalid", field, message: `Invalid value: ${value}: ${message}` };
  });
}

function notEvaluated({ info, name }: AdmissionRequest): Error {
  const text = `${info.kind} with matchConditions is not supported: this server does not evaluate them`;
  const named = name === "" ? {} : { name };
  return failure(501, "NotImplemented", text, { ...named, group: info.group, kind: info.resource });
}
