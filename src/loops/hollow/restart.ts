/**
 * What follows when a container has ended: its rules by exit code, else its own restart policy, else the
 * pod's. As kubelets of 1.36 decide (ContainerRestartRules, RestartAllContainersOnContainerExits).
 */
import type { Container, Pod } from "#api/gen/types.ts";

type AfterExit = "stays" | "restarts" | "restarts-all";

export function afterExit(container: Container, pod: Pod, exitCode: number): AfterExit {
  const { restartPolicy } = container;
  const action = restartPolicy === undefined ? undefined : ruleAction(container, exitCode);
  if (action === "RestartAllContainers") return "restarts-all";
  if (action === "Restart") return "restarts";
  switch (restartPolicy ?? pod.spec?.restartPolicy) {
    case "Never":
      return "stays";
    case "OnFailure":
      return exitCode === 0 ? "stays" : "restarts";
    case undefined:
    default:
      return "restarts";
  }
}

/** Whether a container has a rule that may restart all containers. */
export function mayRestartAll({ spec }: Pod): boolean {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return containers.some(({ restartPolicyRules: rules }) =>
    rules?.some(({ action }) => action === "RestartAllContainers"),
  );
}

/** Returns the action of the first rule that matches the exit code. */
function ruleAction(container: Container, exitCode: number): string | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const isListed = (exitCodes.values ?? []).includes(exitCode);
    return exitCodes.operator === "In" ? isListed : exitCodes.operator === "NotIn" && !isListed;
  })?.action;
}
