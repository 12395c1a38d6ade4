/**
 * What a Stage of the API may not do: it is written with the rights of this process, which its author need not have.
 *
 * Out    one problem per thing it may not. Stages in files are the operator's own and may do all of it.
 * Why    kwok's own rights end at nodes, pods, leases and events; `up` plays stages as system:masters, so a Stage for
 *        ClusterRoleBindings, or one that acts as another user, would make its author the master of the cluster.
 */
import type { Stage, StageStep } from "./stage.ts";

const kinds: ReadonlySet<string> = new Set(["Node", "Pod"]);
const subresources: ReadonlySet<string> = new Set(["", "status"]);

export function servedProblems({ target: { apiVersion, kind }, steps }: Stage): readonly string[] {
  const problems = steps.flatMap(stepProblems);
  if (apiVersion === "v1" && kinds.has(kind)) return problems;
  return [`is for ${kind} of ${apiVersion}, not for Node or Pod of v1: ${remedy}`, ...problems];
}

const remedy = "only a Stage of a file may";

function stepProblems(step: StageStep): readonly string[] {
  if (step.kind === "apply") return [`applies other objects: ${remedy}`];
  if (step.kind !== "patch") return [];
  const { asUser, subresource } = step;
  return [
    ...(asUser === undefined ? [] : [`acts as the user ${asUser}: ${remedy}`]),
    ...(subresources.has(subresource) ? [] : [`patches ${subresource}, not status: ${remedy}`]),
  ];
}
