/** Conditions of a definition, pure. A condition keeps its time while its status stays the same. */
import type { CustomResourceDefinitionStatus } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { nonStructuralCondition } from "#api/structural/structural.ts";
import type { JsonObject } from "#api/object.ts";
import { type Condition, type Definition, findCondition } from "./definition.ts";

export type Said = Pick<Condition, "type" | "status" | "reason" | "message">;

/** Returns the same definition if the condition does not change. */
export function withCondition(definition: Definition, said: Said, nowMs: number): Definition {
  const old = findCondition(definition, said.type);
  const isSame =
    old?.status === said.status && old.reason === said.reason && old.message === said.message;
  if (isSame) return definition;
  const isOldTime = old?.status === said.status && old.lastTransitionTime !== undefined;
  const time = isOldTime ? (old.lastTransitionTime ?? "") : formatTime(nowMs);
  const { generation } = definition.metadata ?? {};
  const next: Condition = {
    ...said,
    lastTransitionTime: time,
    ...(old?.observedGeneration === undefined ? {} : { observedGeneration: generation ?? 0 }),
  };
  const all = definition.status?.conditions ?? [];
  const conditions =
    old === undefined ? [...all, next] : all.map((one) => (one === old ? next : one));
  return withStatus(definition, { conditions });
}

export function withoutCondition(definition: Definition, type: string): Definition {
  if (findCondition(definition, type) === undefined) return definition;
  const conditions = (definition.status?.conditions ?? []).filter((one) => one.type !== type);
  return withStatus(definition, { conditions });
}

export function withStatus(
  definition: Definition,
  status: Partial<CustomResourceDefinitionStatus>,
): Definition {
  return { ...definition, status: { ...definition.status, ...status } };
}

/** Returns the condition NonStructuralSchema. Compiles every schema, so it is called once per generation. */
export function structuralCondition(definition: Definition): Said | undefined {
  // A validated definition contains only plain JSON.
  const found = nonStructuralCondition(definition as unknown as JsonObject);
  return found === undefined ? undefined : { type: "NonStructuralSchema", ...found };
}

const approval = "api-approved.kubernetes.io";
const protectedSuffixes = ["k8s.io", "kubernetes.io"];
const proposal = "see https://github.com/kubernetes/enhancements/pull/1111";

/** Returns the condition about the API's approval. Undefined: the group is not protected. */
export function approvalCondition({ metadata, spec }: Definition): Said | undefined {
  const isProtected = protectedSuffixes.some(
    (suffix) => spec.group === suffix || spec.group.endsWith(`.${suffix}`),
  );
  if (!isProtected) return undefined;
  const type = "KubernetesAPIApprovalPolicyConformant";
  const value = metadata?.annotations?.[approval] ?? "";
  const must = `protected groups must have approval annotation ${JSON.stringify(approval)}`;
  if (value === "") {
    return { type, status: "False", reason: "MissingAnnotation", message: `${must}, ${proposal}` };
  }
  if (value.startsWith("unapproved")) {
    const message = `not approved: ${JSON.stringify(value)}`;
    return { type, status: "False", reason: "UnapprovedAnnotation", message };
  }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]+/.test(value) && URL.canParse(value)) {
    return { type, status: "True", reason: "ApprovedAnnotation", message: `approved in ${value}` };
  }
  const message = `${must} with either a URL or a reason starting with "unapproved", ${proposal}`;
  return { type, status: "False", reason: "InvalidAnnotation", message };
}

export function terminating(status: "True" | "False", reason: string, message: string): Said {
  return { type: "Terminating", status, reason, message };
}

export const established: Said = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted",
};
