/** Disruption budgets, admission webhooks and policies, priority and fairness. */
import type {
  FlowSchema,
  MutatingAdmissionPolicy,
  MutatingWebhookConfiguration,
  ParamKind,
  ParamRef,
  PodDisruptionBudget,
  PriorityLevelConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../gen/types.ts";
import { formatLabelSelector } from "../selectors/label-selector.ts";
import { age, ageColumn, integer, nameColumn, nameOf, printer, text } from "./printer.ts";
import type { Printer } from "./printer.ts";

export const podDisruptionBudgets: Printer = printer<PodDisruptionBudget>(
  [
    nameColumn,
    text("Min Available", "How many pods must stay available."),
    text("Max Unavailable", "How many pods may be unavailable."),
    integer("Allowed Disruptions", "How many pods may be evicted now."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    String(object.spec?.minAvailable ?? "N/A"),
    String(object.spec?.maxUnavailable ?? "N/A"),
    object.status?.disruptionsAllowed ?? 0,
    age(object, nowMs),
  ],
);

/** Both kinds of webhook configuration: the fields shown are the same. */
export const webhookConfigurations: Printer = printer<MutatingWebhookConfiguration>(
  [nameColumn, integer("Webhooks", "How many webhooks the configuration has."), ageColumn],
  (object, nowMs) => [nameOf(object), (object.webhooks ?? []).length, age(object, nowMs)],
);

const paramKindColumn = text("ParamKind", "The kind of the policy's parameters.");

function paramKindCell(kind: ParamKind | undefined): string {
  return kind === undefined ? "<unset>" : `${kind.apiVersion ?? ""}/${kind.kind ?? ""}`;
}

export const validatingAdmissionPolicies: Printer = printer<ValidatingAdmissionPolicy>(
  [
    nameColumn,
    integer("Validations", "How many validations the policy has."),
    paramKindColumn,
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    (object.spec?.validations ?? []).length,
    paramKindCell(object.spec?.paramKind),
    age(object, nowMs),
  ],
);

export const mutatingAdmissionPolicies: Printer = printer<MutatingAdmissionPolicy>(
  [
    nameColumn,
    integer("Mutations", "How many mutations the policy has."),
    paramKindColumn,
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    (object.spec?.mutations ?? []).length,
    paramKindCell(object.spec?.paramKind),
    age(object, nowMs),
  ],
);

/** Bindings of both kinds of policy: the fields shown are the same. */
export const admissionPolicyBindings: Printer = printer<ValidatingAdmissionPolicyBinding>(
  [
    nameColumn,
    text("PolicyName", "The policy that is bound."),
    text("ParamRef", "The object with the policy's parameters."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec?.policyName ?? "",
    paramRefCell(object.spec?.paramRef),
    age(object, nowMs),
  ],
);

function paramRefCell(ref: ParamRef | undefined): string {
  if (ref === undefined) return "<unset>";
  const { name = "", namespace, selector } = ref;
  if (name !== "") return `${namespace || "*"}/${name}`;
  return selector === undefined ? "<unset>" : formatLabelSelector(selector);
}

export const flowSchemas: Printer = printer<FlowSchema>(
  [
    nameColumn,
    text("PriorityLevel", "The priority level requests of the schema get."),
    text("MatchingPrecedence", "Schemas are tried from the lowest to the highest."),
    text("DistinguisherMethod", "What tells one flow of the schema from another."),
    ageColumn,
    text("MissingPL", "Whether the priority level does not exist."),
  ],
  ({ spec, status, ...object }, nowMs) => [
    nameOf(object),
    spec?.priorityLevelConfiguration.name ?? "",
    spec?.matchingPrecedence ?? 0,
    spec?.distinguisherMethod?.type ?? "<none>",
    age(object, nowMs),
    status?.conditions?.find((c) => c.type === "Dangling")?.status ?? "?",
  ],
);

export const priorityLevelConfigurations: Printer = printer<PriorityLevelConfiguration>(
  [
    nameColumn,
    text("Type", "Whether the level is limited."),
    text("NominalConcurrencyShares", "The level's share of the server's concurrency."),
    text("Queues", "How many queues the level has."),
    text("HandSize", "How many queues a flow is dealt."),
    text("QueueLengthLimit", "How many requests a queue holds."),
    ageColumn,
  ],
  ({ spec, ...object }, nowMs) => {
    const limited = spec?.limited;
    const queuing = limited?.limitResponse?.queuing;
    return [
      nameOf(object),
      spec?.type ?? "",
      limited?.nominalConcurrencyShares ?? "<none>",
      queuing?.queues ?? "<none>",
      queuing?.handSize ?? "<none>",
      queuing?.queueLengthLimit ?? "<none>",
      age(object, nowMs),
    ];
  },
);
