/**
 * Checks rights to devices, as upstream does in the storage of resource claims (pkg/registry/resource). Administrative
 * access needs a label on the namespace. Allocating and reserving a claim needs the right to `resourceclaims/binding`.
 * Reporting on its devices needs the right to `resourceclaims/driver` of each driver.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { type FieldError, forbidden, invalid } from "#api/status.ts";
import { semanticEqual } from "#api/validation/equal.ts";
import { forbiddenField } from "#api/validation/errors.ts";
import type { Fields } from "#api/validation/fields.ts";
import { flag, items, maybe, part, text, texts } from "#api/validation/fields.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isResource, isSubresource, quote } from "./request.ts";

const group = "resource.k8s.io";
const claims = "resourceclaims";
const adminLabel = "resource.kubernetes.io/admin-access";
const nodeNameExtra = "authentication.kubernetes.io/node-name";

interface Deps {
  readonly lookup: Lister;
  readonly access: Access;
}

export function resourceClaims(deps: Deps): AdmissionPlugin {
  return {
    name: "ResourceClaims",
    validate(request: AdmissionRequest): void | Promise<void> {
      const faults = faultsOf(request, deps);
      if (!(faults instanceof Promise)) return refuseFaults(request, faults);
      return faults.then((found) => refuseFaults(request, found));
    },
  };
}

function refuseFaults(request: AdmissionRequest, faults: readonly FieldError[]): void {
  if (faults.length === 0) return;
  const { kind } = request.info;
  throw invalid({ group, kind }, request.object?.metadata?.name ?? request.name, faults);
}

function faultsOf(
  request: AdmissionRequest,
  deps: Deps,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  const { object = {}, operation } = request;
  if (operation === "CREATE" && isResource(request, group, claims)) {
    return requestFaults(request, part(object, "spec"), deps.lookup);
  }
  if (operation === "CREATE" && isResource(request, group, "resourceclaimtemplates")) {
    return requestFaults(request, part(part(object, "spec"), "spec"), deps.lookup);
  }
  if (operation === "UPDATE" && isSubresource(request, group, claims, "status")) {
    return statusFaults(request, deps);
  }
  return [];
}

function requestFaults(
  request: AdmissionRequest,
  spec: Fields,
  lookup: Lister,
): readonly FieldError[] {
  const requests = items(part(spec, "devices"), "requests");
  const at = requests.findIndex((each) => flag(part(each, "exactly"), "adminAccess"));
  return at < 0 ? [] : adminFaults(request, lookup, `spec.devices.requests[${at}].adminAccess`);
}

function adminFaults(
  request: AdmissionRequest,
  lookup: Lister,
  field: string,
): readonly FieldError[] {
  const namespace = lookup.get({ group: "", resource: "namespaces" }, "", request.namespace);
  if (namespace?.metadata?.labels?.[adminLabel] === "true") return [];
  const why = `admin access to devices requires the \`${adminLabel}: true\` label on the containing namespace`;
  return [{ reason: "FieldValueForbidden", field, message: `Forbidden: ${why}` }];
}

async function statusFaults(request: AdmissionRequest, deps: Deps): Promise<readonly FieldError[]> {
  const next = part(request.object ?? {}, "status");
  const old = part(request.oldObject ?? {}, "status");
  return [
    ...adminStatusFaults(request, next, old, deps.lookup),
    ...(await bindingFaults(request, next, old, deps.access)),
    ...(maybe(next, "allocation") === undefined
      ? []
      : await driverFaults(request, next, old, deps.access)),
  ];
}

function adminStatusFaults(
  request: AdmissionRequest,
  next: Fields,
  old: Fields,
  lookup: Lister,
): readonly FieldError[] {
  if (adminResult(old) >= 0) return [];
  const at = adminResult(next);
  const field = `status.allocation.devices.results[${at}].adminAccess`;
  return at < 0 ? [] : adminFaults(request, lookup, field);
}

function adminResult(status: Fields): number {
  const results = items(part(part(status, "allocation"), "devices"), "results");
  return results.findIndex((result) => flag(result, "adminAccess"));
}

async function bindingFaults(
  request: AdmissionRequest,
  next: Fields,
  old: Fields,
  access: Access,
): Promise<readonly FieldError[]> {
  const same =
    semanticEqual(next["allocation"], old["allocation"]) &&
    semanticEqual(next["reservedFor"], old["reservedFor"]);
  if (same) return [];
  const verb = request.verb ?? "update";
  const question = { verb, subresource: "binding", namespace: "", name: "" };
  if (await isAllowed(access, request.user, question)) return [];
  const what = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission`;
  return [forbiddenField("status.allocation", `${what}: ${refusalText(request.user, question)}`)];
}

interface Question {
  readonly verb: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

async function isAllowed(access: Access, user: UserInfo, question: Question): Promise<boolean> {
  return access.isAllowed({ user, group, resource: claims, ...question });
}

function refusalText(user: UserInfo, { verb, subresource, namespace, name }: Question): string {
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
  const why = `User ${quote(user.name)} cannot ${verb} resource "${claims}/${subresource}" in API group "${group}" ${where}`;
  return forbidden({ group, resource: claims }, name, why).message;
}

/** A driver needs fewer rights to report about devices of its own node than about those of any node. */
async function driverFaults(
  request: AdmissionRequest,
  next: Fields,
  old: Fields,
  access: Access,
): Promise<readonly FieldError[]> {
  const { user, namespace } = request;
  const verb = request.verb ?? "update";
  const isNear = nodeOfAccount(user) !== "" && nodeOfAccount(user) === allocatedNode(next);
  const verbs = [...(isNear ? [`associated-node:${verb}`] : []), `arbitrary-node:${verb}`];
  const faults: FieldError[] = [];
  for (const name of changedDrivers(next, old)) {
    const questions = verbs.map((asked) => ({
      verb: asked,
      subresource: "driver",
      namespace,
      name,
    }));
    if (await isAnyAllowed(access, user, questions)) continue;
    const [first] = questions;
    const what = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(" ")}]" permission`;
    const why = first === undefined ? "" : refusalText(user, first);
    faults.push(forbiddenField("status.devices", `${what}: ${why}`));
  }
  return faults;
}

async function isAnyAllowed(
  access: Access,
  user: UserInfo,
  questions: readonly Question[],
): Promise<boolean> {
  for (const question of questions) if (await isAllowed(access, user, question)) return true;
  return false;
}

function changedDrivers(next: Fields, old: Fields): readonly string[] {
  const before = new Map(items(old, "devices").map((device) => [deviceKey(device), device]));
  const drivers = new Set<string>();
  for (const device of items(next, "devices")) {
    const key = deviceKey(device);
    if (!semanticEqual(device, before.get(key) ?? {})) drivers.add(text(device, "driver"));
    before.delete(key);
  }
  for (const removed of before.values()) drivers.add(text(removed, "driver"));
  return [...drivers].toSorted();
}

function deviceKey(device: Fields): string {
  return JSON.stringify(
    ["driver", "pool", "device", "shareID"].map((field) => text(device, field)),
  );
}

/** The node in a service account's token; "" when the user has none. */
function nodeOfAccount({ name, extra = {} }: UserInfo): string {
  if (!name.startsWith("system:serviceaccount:")) return "";
  const names = new Map(Object.entries(extra)).get(nodeNameExtra) ?? [];
  return names.length === 1 ? (names[0] ?? "") : "";
}

/** The node of an allocation; "" when it is for several. */
function allocatedNode(status: AnyObject): string {
  const selector = part(part(status, "allocation"), "nodeSelector");
  const [term, ...more] = items(selector, "nodeSelectorTerms");
  if (term === undefined || more.length > 0 || items(term, "matchExpressions").length > 0)
    return "";
  const [field, ...others] = items(term, "matchFields");
  if (field === undefined || others.length > 0) return "";
  const isName = text(field, "key") === "metadata.name" && text(field, "operator") === "In";
  const values = texts(field, "values");
  return isName && values.length === 1 ? (values[0] ?? "") : "";
}
