/** spec.podFailurePolicy: the consequence of a failed pod for its Job. Pure. */
import type { ContainerStatus, Job, Pod, PodFailurePolicyRule } from "#api/gen/types.ts";

type FailureAction = "Count" | "Ignore" | "FailJob" | "FailIndex";

interface FailureVerdict {
  readonly action: FailureAction;
  /** For the Failed condition when the action is FailJob. */
  readonly message: string;
}

/** The first matching rule decides; without a match the failure counts. */
export function failureVerdict(job: Job, pod: Pod): FailureVerdict {
  const rules = job.spec?.podFailurePolicy?.rules ?? [];
  for (const [at, rule] of rules.entries()) {
    const why = ruleMatch(rule, pod);
    if (why === undefined) continue;
    const message = `${why} matching ${rule.action} rule at index ${at}`;
    return { action: rule.action as FailureAction, message };
  }
  return { action: "Count", message: "" };
}

function ruleMatch(rule: PodFailurePolicyRule, pod: Pod): string | undefined {
  const { namespace = "", name = "" } = pod.metadata ?? {};
  if (rule.onExitCodes !== undefined) {
    const hit = exitMatch(rule.onExitCodes, pod);
    const code = hit?.state?.terminated?.exitCode ?? 0;
    return (
      hit && `Container ${hit.name} for pod ${namespace}/${name} failed with exit code ${code}`
    );
  }
  const condition = pod.status?.conditions?.find((has) =>
    (rule.onPodConditions ?? []).some(
      (wanted) => wanted.type === has.type && (wanted.status ?? "True") === has.status,
    ),
  );
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`;
}

/** The first container whose exit code matches, init containers last; exit code 0 never matches. */
function exitMatch(
  { operator, values, containerName }: NonNullable<PodFailurePolicyRule["onExitCodes"]>,
  pod: Pod,
): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((status) => {
    const code = status.state?.terminated?.exitCode ?? 0;
    if (code === 0 || (containerName !== undefined && containerName !== status.name)) return false;
    return (operator === "In") === values.includes(code);
  });
}

/** Whether pods are replaced only after they have ended, so that terminating pods are not failures yet. */
export function replacesOnlyFailed(job: Job): boolean {
  return job.spec?.podReplacementPolicy === "Failed" || job.spec?.podFailurePolicy !== undefined;
}

export function isPodFailed(job: Job, pod: Pod): boolean {
  if (pod.status?.phase === "Failed") return true;
  if (replacesOnlyFailed(job) || pod.status?.phase === "Succeeded") return false;
  // A pod that is deleted while running may never report a phase.
  return pod.metadata?.deletionTimestamp !== undefined;
}
