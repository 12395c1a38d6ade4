/**
 * The fields of each built-in resource that a field selector may name, and their values.
 *
 * Every resource has metadata.name, and metadata.namespace unless its kind refuses it. Fields of
 * custom resources come from their CRD (`selectableFields`) and are not in this table.
 */
import { ownEntry } from "#base/own.ts";
import { SelectorError } from "./label-selector.ts";
import type { FieldRequirement, FieldSelector } from "./field-selector.ts";
import type { AnyObject } from "../object.ts";

const metadataFields = ["metadata.name", "metadata.namespace"] as const;

interface SelectableResource {
  /** Fields accepted in a selector, in upstream's order. */
  readonly fields: readonly string[];
  /** The error text for any other field. */
  readonly refuse: (field: string) => string;
  /** Accepted names that stand for another field of the table. */
  readonly renames?: Readonly<Record<string, string>>;
}

const plainRefusal = (field: string): string => `field label not supported: ${field}`;

function selectable(fields: readonly string[]): SelectableResource {
  return { fields: [...metadataFields, ...fields], refuse: plainRefusal };
}

const involved = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

const table: Readonly<Record<string, SelectableResource>> = {
  pods: {
    ...selectable([
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork",
      "status.phase",
      "status.podIP",
      "status.podIPs",
      "status.nominatedNodeName",
    ]),
    renames: { "spec.host": "spec.nodeName" },
  },
  nodes: { fields: ["metadata.name", "spec.unschedulable"], refuse: plainRefusal },
  namespaces: { fields: ["metadata.name", "status.phase"], refuse: plainRefusal },
  secrets: selectable(["type"]),
  services: selectable(["spec.clusterIP", "spec.type"]),
  replicationcontrollers: selectable(["status.replicas"]),
  "statefulsets.apps": {
    ...selectable(["status.successful"]),
    refuse: (field) => `field label not supported for appsv1.StatefulSet: ${field}`,
  },
  "jobs.batch": {
    ...selectable(["status.successful"]),
    refuse: (field) => `field label ${JSON.stringify(field)} not supported for Job`,
  },
  events: selectable([
    ...involved.map((field) => `involvedObject.${field}`),
    "reason",
    "reportingComponent",
    "source",
    "type",
  ]),
  "events.events.k8s.io": {
    ...selectable(["reason", "type"]),
    renames: {
      ...Object.fromEntries(
        involved.map((field) => [`regarding.${field}`, `involvedObject.${field}`]),
      ),
      reportingController: "reportingComponent",
    },
  },
  "certificatesigningrequests.certificates.k8s.io": {
    fields: ["metadata.name", "spec.signerName"],
    refuse: plainRefusal,
  },
  "clustertrustbundles.certificates.k8s.io": {
    fields: ["metadata.name", "spec.signerName"],
    refuse: plainRefusal,
  },
  "podcertificaterequests.certificates.k8s.io": selectable(["spec.signerName", "spec.nodeName"]),
  "resourceslices.resource.k8s.io": {
    fields: ["metadata.name", "spec.nodeName", "spec.driver"],
    refuse: (field) =>
      `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`,
  },
};

const plain: SelectableResource = {
  fields: metadataFields,
  refuse: (field) =>
    `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
};

function selectableResource(group: string, resource: string): SelectableResource {
  return ownEntry(table, group === "" ? resource : `${resource}.${group}`) ?? plain;
}

/** The fields that a selector on this resource may name; a cache computes them for each object. */
export function selectableFields(group: string, resource: string): readonly string[] {
  const { fields, renames } = selectableResource(group, resource);
  return renames === undefined ? fields : [...fields, ...Object.keys(renames)];
}

/**
 * Returns the selector with old names and names of other versions replaced by those that `fieldValue` and the stored
 * version know (`spec.host`, `regarding.name`). Throws SelectorError for a field that the resource does
 * not have; its text is for a 400. `extra` are a custom resource's selectable fields.
 */
export function checkFieldSelector(
  group: string,
  resource: string,
  selector: FieldSelector,
  extra: readonly string[] = [],
  isCustom = false,
): FieldSelector {
  const { fields, renames, refuse } = selectableResource(group, resource);
  const check = (requirement: FieldRequirement): FieldRequirement => {
    const { field } = requirement;
    const renamed = renames !== undefined && Object.hasOwn(renames, field) ? renames[field] : field;
    if (renamed === undefined || (renamed === field && ![...fields, ...extra].includes(field))) {
      throw new SelectorError(isCustom ? plainRefusal(field) : refuse(field));
    }
    return { ...requirement, field: renamed };
  };
  return { requirements: selector.requirements.map(check) };
}

/** The value of `field` in `object`, "" when absent. `object` may be either version of an event. */
export function fieldValue(
  group: string,
  resource: string,
  object: AnyObject,
  field: string,
): string {
  // A field of a custom resource is read by its path, even if a built-in kind treats such a name differently.
  if (selectableResource(group, resource) === plain) return plainFieldValue(object, field);
  if (resource === "events" && (group === "" || group === "events.k8s.io")) {
    return eventField(object, field);
  }
  switch (field) {
    case "spec.hostNetwork":
    case "spec.unschedulable":
      return String(valueAt(object, field) === true);
    case "status.replicas":
      return text(valueAt(object, field) ?? 0);
    case "status.podIP":
      return podAddress(object);
    case "status.podIPs":
      return ""; // accepted, but upstream computes no value for it
    case "status.successful":
      return resource === "jobs" ? text(valueAt(object, "status.succeeded") ?? 0) : "";
    default:
      return text(valueAt(object, field));
  }
}

/** The value at a plain path (`spec.color`) as text; also used for custom resources. */
export function plainFieldValue(object: AnyObject, path: string): string {
  return text(valueAt(object, path));
}

function podAddress(object: AnyObject): string {
  const addresses = valueAt(object, "status.podIPs");
  const first: unknown = Array.isArray(addresses) ? addresses[0] : undefined;
  return text(child(first, "ip")) || text(valueAt(object, "status.podIP"));
}

function eventField(object: AnyObject, field: string): string {
  if (field.startsWith("involvedObject.") || field.startsWith("regarding.")) {
    const subject = object["involvedObject"] ?? object["regarding"];
    return text(child(subject, field.slice(field.indexOf(".") + 1)));
  }
  const reporter = text(object["reportingComponent"]) || text(object["reportingController"]);
  if (field === "reportingComponent" || field === "reportingController") return reporter;
  if (field !== "source") return text(valueAt(object, field));
  return text(child(object["source"] ?? object["deprecatedSource"], "component")) || reporter;
}

function valueAt(object: AnyObject, path: string): unknown {
  return path.split(".").reduce<unknown>(child, object);
}

function child(value: unknown, field: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined; // plain JSON
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
