/** Config maps, secrets, service accounts, quotas; RBAC bindings; certificate requests. */
import type {
  CertificateSigningRequest,
  ClusterRoleBinding,
  ConfigMap,
  ResourceQuota,
  RoleBinding,
  Secret,
  Subject,
} from "../gen/types.ts";
import { formatQuantity, tryParseQuantity } from "../values/quantity.ts";
import { humanDuration } from "../values/time.ts";
import { age, ageColumn, nameColumn, nameOf, printer, text, wideText } from "./printer.ts";
import type { Printer } from "./printer.ts";

export const configMaps: Printer = printer<ConfigMap>(
  [nameColumn, text("Data", "How many entries the object has."), ageColumn],
  (object, nowMs) => [
    nameOf(object),
    Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
    age(object, nowMs),
  ],
);

export const secrets: Printer = printer<Secret>(
  [
    nameColumn,
    text("Type", "What the secret is for."),
    text("Data", "How many entries the object has."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.type ?? "",
    Object.keys(object.data ?? {}).length,
    age(object, nowMs),
  ],
);

export const resourceQuotas: Printer = printer<ResourceQuota>(
  [
    nameColumn,
    text("Request", "Used and allowed amounts of everything but limits."),
    text("Limit", "Used and allowed amounts of limits."),
    ageColumn,
  ],
  (object, nowMs) => {
    const names = Object.keys(object.status?.hard ?? {}).sort();
    const show = (name: string): string => quotaUse(object, name);
    return [
      nameOf(object),
      names
        .filter((name) => !isLimit(name))
        .map(show)
        .join(", "),
      names.filter(isLimit).map(show).join(", "),
      age(object, nowMs),
    ];
  },
);

function isLimit(name: string): boolean {
  return name.startsWith("limits.");
}

function quotaUse(object: ResourceQuota, name: string): string {
  const { used = {}, hard = {} } = object.status ?? {};
  return `${name}: ${quantityCell(used[name])}/${quantityCell(hard[name])}`;
}

/** Canonical; "0" when absent; an invalid text is shown as it is. */
export function quantityCell(quantity: string | number | undefined): string {
  if (quantity === undefined) return "0";
  const parsed = tryParseQuantity(quantity);
  return parsed === undefined ? String(quantity) : formatQuantity(parsed);
}

function subjectNames(subjects: readonly Subject[] | undefined): readonly string[] {
  const names = (kind: string, show: (subject: Subject) => string): string =>
    (subjects ?? [])
      .filter((subject) => subject.kind === kind)
      .map(show)
      .join(", ");
  const name = (subject: Subject): string => subject.name;
  return [
    names("User", name),
    names("Group", name),
    names("ServiceAccount", (subject) => `${subject.namespace ?? ""}/${subject.name}`),
  ];
}

function bindingPrinter(): Printer {
  return printer<RoleBinding | ClusterRoleBinding>(
    [
      nameColumn,
      text("Role", "The role that is granted."),
      ageColumn,
      wideText("Users", "The users it is granted to."),
      wideText("Groups", "The groups it is granted to."),
      wideText("ServiceAccounts", "The service accounts it is granted to."),
    ],
    (object, nowMs) => [
      nameOf(object),
      `${object.roleRef.kind}/${object.roleRef.name}`,
      age(object, nowMs),
      ...subjectNames(object.subjects),
    ],
  );
}

export const roleBindings: Printer = bindingPrinter();
export const clusterRoleBindings: Printer = bindingPrinter();

export const certificateSigningRequests: Printer = printer<CertificateSigningRequest>(
  [
    nameColumn,
    ageColumn,
    text("SignerName", "Who is asked to sign."),
    text("Requestor", "Who asks."),
    text("RequestedDuration", "For how long the certificate should be valid."),
    text("Condition", "Whether the request is approved and the certificate issued."),
  ],
  (object, nowMs) => {
    const seconds = object.spec.expirationSeconds;
    return [
      nameOf(object),
      age(object, nowMs),
      object.spec.signerName || "<none>",
      object.spec.username ?? "",
      seconds === undefined ? "<none>" : humanDuration(seconds * 1000),
      requestCondition(object),
    ];
  },
);

function requestCondition(object: CertificateSigningRequest): string {
  const types = new Set((object.status?.conditions ?? []).map((c) => c.type));
  const decision = types.has("Denied") ? "Denied" : types.has("Approved") ? "Approved" : "Pending";
  const issued = (object.status?.certificate ?? "") !== "";
  return `${decision}${types.has("Failed") ? ",Failed" : ""}${issued ? ",Issued" : ""}`;
}
