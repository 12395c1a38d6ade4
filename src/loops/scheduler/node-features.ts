/**
 * The kubelet features that a Pod needs.
 * After  component-helpers nodedeclaredfeatures: those of its features that concern scheduling.
 */
import type { Container, Pod } from "#api/gen/types.ts";

const nothing: readonly string[] = [];

/** Returns the features that the Pod needs, sorted by name; part of the Pod's class (pod-info.ts). */
export function featuresNeeded({ spec }: Pod): readonly string[] {
  if (spec === undefined) return nothing;
  const restartsAll =
    spec.containers.some(hasRestartOfAll) || (spec.initContainers ?? []).some(hasRestartOfAll);
  const hasOwnUsers = spec.hostNetwork === true && spec.hostUsers === false;
  if (!restartsAll && !hasOwnUsers) return nothing;
  return [
    ...(restartsAll ? ["RestartAllContainersOnContainerExits"] : []),
    ...(hasOwnUsers ? ["UserNamespacesHostNetworkSupport"] : []),
  ];
}

function hasRestartOfAll({ restartPolicyRules = [] }: Container): boolean {
  return restartPolicyRules.some(({ action }) => action === "RestartAllContainers");
}
