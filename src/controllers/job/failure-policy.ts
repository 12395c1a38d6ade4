/** spec.podFailurePolicy, pure: what a failed pod means for its Job. */
import type { Job, Pod, PodFailurePolicyRule } from "#api/gen/types.ts";

export type FailureAction = "Count" | "Ignore" | "FailJob" | "FailIndex";

export interface FailureVerdict {
  readonly action: FailureAction;
  /** For the Failed condition when the action is FailJob. */
  readonly message: string;
}

/** The first rule that matches decides; none: the failure counts. */
export function failureVerdict(job: Job, pod: Pod): FailureVerdict {
  const rules = job.spec?.podFailurePolicy?.rules ?? [];
  for (const [at, rule] of rules.entries()) {
    const message = ruleMatch(rule, pod, at);
    if (message !== undefined) return { action: rule.action as FailureAction, message };
  }
  return { action: "Count", message: "" };
}

function ruleMatch(rule: PodFailurePolicyRule, pod: Pod, at: number): string | undefined {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  if (rule.onExitCodes !== undefined) {
    const { operator, values, containerName } = rule.onExitCodes;
    const statuses = [
      ...(pod.status?.initContainerStatuses ?? []),
      ...(pod.status?.containerStatuses ?? []),
    ];
    const hit = statuses.find((status) => {
      const code = status.state?.terminated?.exitCode;
      if (code === undefined || code === 0) return false;
      if (containerName !== undefined && containerName !== status.name) return false;
      return (operator === "In") === values.includes(code);
    });
    if (hit === undefined) return undefined;
    const code = hit.state?.terminated?.exitCode ?? 0;
    return `Container ${hit.name} for pod ${namespace}/${name} failed with exit code ${code} matching ${rule.action} rule at index ${at}`;
  }
  const condition = pod.status?.conditions?.find((has) =>
    (rule.onPodConditions ?? []).some(
      (wanted) => wanted.type === has.type && (wanted.status ?? "True") === has.status,
    ),
  );
  if (condition === undefined) return undefined;
  return `Pod ${namespace}/${name} has condition ${condition.type} matching ${rule.action} rule at index ${at}`;
}
