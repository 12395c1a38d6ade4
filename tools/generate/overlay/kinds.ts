/**
 * Facts about whole definitions: tags of the shared kinds, unions, definitions that have no model
 * class, and which of several equally named types gets the plain TypeScript name.
 */

/** Kinds of meta/v1 that are served as kinds of `v1` only. Every other package tags its own. */
export const coreMetaKinds = "APIGroup APIGroupList APIResourceList APIVersions Status";

/** Kinds of meta/v1 that every group-version has: tagged with all of `registeredGroupVersions`. */
export const universalMetaKinds = "DeleteOptions WatchEvent";

/** Every group-version the upstream scheme knows, served or not, in the order documents list them. */
export const registeredGroupVersions = `
  v1 admission.k8s.io/v1 admission.k8s.io/v1beta1 admissionregistration.k8s.io/v1
  admissionregistration.k8s.io/v1alpha1 admissionregistration.k8s.io/v1beta1
  apiextensions.k8s.io/v1 apiextensions.k8s.io/v1beta1 apiregistration.k8s.io/v1
  apiregistration.k8s.io/v1beta1 apps/v1 apps/v1beta1 apps/v1beta2 authentication.k8s.io/v1
  authentication.k8s.io/v1alpha1 authentication.k8s.io/v1beta1 authorization.k8s.io/v1
  authorization.k8s.io/v1beta1 autoscaling/v1 autoscaling/v2 batch/v1 batch/v1beta1
  certificates.k8s.io/v1 certificates.k8s.io/v1alpha1 certificates.k8s.io/v1beta1
  coordination.k8s.io/v1 coordination.k8s.io/v1alpha2 coordination.k8s.io/v1beta1
  discovery.k8s.io/v1 discovery.k8s.io/v1beta1 events.k8s.io/v1 events.k8s.io/v1beta1
  extensions/v1beta1 flowcontrol.apiserver.k8s.io/v1 flowcontrol.apiserver.k8s.io/v1beta1
  flowcontrol.apiserver.k8s.io/v1beta2 flowcontrol.apiserver.k8s.io/v1beta3
  imagepolicy.k8s.io/v1alpha1 internal.apiserver.k8s.io/v1alpha1 networking.k8s.io/v1
  networking.k8s.io/v1beta1 node.k8s.io/v1 node.k8s.io/v1alpha1 node.k8s.io/v1beta1 policy/v1
  policy/v1beta1 rbac.authorization.k8s.io/v1 rbac.authorization.k8s.io/v1alpha1
  rbac.authorization.k8s.io/v1beta1 resource.k8s.io/v1 resource.k8s.io/v1alpha3
  resource.k8s.io/v1beta1 resource.k8s.io/v1beta2 scheduling.k8s.io/v1
  scheduling.k8s.io/v1alpha2 scheduling.k8s.io/v1beta1 storage.k8s.io/v1
  storage.k8s.io/v1alpha1 storage.k8s.io/v1beta1 storagemigration.k8s.io/v1beta1
`;

export interface UnionFacts {
  readonly discriminator?: string;
  /** JSON name -> name in the discriminator's values. */
  readonly fields: Readonly<Record<string, string>>;
}

export const unions: Readonly<Record<string, UnionFacts>> = {
  "core.v1.AppArmorProfile": {
    discriminator: "type",
    fields: { localhostProfile: "LocalhostProfile" },
  },
  "core.v1.PodSchedulingGroup": { fields: { podGroupName: "PodGroupName" } },
  "core.v1.SeccompProfile": {
    discriminator: "type",
    fields: { localhostProfile: "LocalhostProfile" },
  },
  "flowcontrol.v1.LimitResponse": { discriminator: "type", fields: { queuing: "Queuing" } },
  "flowcontrol.v1.PriorityLevelConfigurationSpec": {
    discriminator: "type",
    fields: { exempt: "Exempt", limited: "Limited" },
  },
  "flowcontrol.v1.Subject": {
    discriminator: "kind",
    fields: { group: "Group", serviceAccount: "ServiceAccount", user: "User" },
  },
  "scheduling.v1alpha2.PodGroupSchedulingPolicy": { fields: { basic: "Basic", gang: "Gang" } },
  "scheduling.v1alpha2.PodGroupTemplateReference": { fields: { workload: "Workload" } },
};

/** A definition without a model class. */
export interface ScalarFacts {
  readonly path: string;
  /** "empty": a struct without fields; "any": free JSON; the rest are strings on the wire. */
  readonly shape: "empty" | "any" | "object" | "string" | "date-time" | "int-or-string";
  readonly typescript: string;
  readonly description: string;
}

const extensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** By type name, as `anyFields` uses them. */
export const scalars: Readonly<Record<string, ScalarFacts>> = {
  StorageVersionSpec: {
    path: "io.k8s.api.apiserverinternal.v1alpha1",
    shape: "empty",
    typescript: "Readonly<Record<string, never>>",
    description: "StorageVersionSpec is an empty spec.",
  },
  BasicSchedulingPolicy: {
    path: "io.k8s.api.scheduling.v1alpha2",
    shape: "empty",
    typescript: "Readonly<Record<string, never>>",
    description: "Schedule each pod of the group by itself.",
  },
  CustomResourceSubresourceStatus: {
    path: extensions,
    shape: "empty",
    typescript: "Readonly<Record<string, never>>",
    description: "Present: the custom resource has a status subresource.",
  },
  JSON: {
    path: extensions,
    shape: "any",
    typescript: "JsonValue",
    description: "Any JSON value.",
  },
  JSONSchemaPropsOrArray: {
    path: extensions,
    shape: "any",
    typescript: "JSONSchemaProps | readonly JSONSchemaProps[]",
    description: "A schema, or a list of schemas.",
  },
  JSONSchemaPropsOrBool: {
    path: extensions,
    shape: "any",
    typescript: "JSONSchemaProps | boolean",
    description: "A schema, or a boolean.",
  },
  JSONSchemaPropsOrStringArray: {
    path: extensions,
    shape: "any",
    typescript: "JSONSchemaProps | readonly string[]",
    description: "A schema, or a list of strings.",
  },
  Quantity: {
    path: "io.k8s.apimachinery.pkg.api.resource",
    shape: "string",
    typescript: "string",
    description:
      "A fixed-point number with a unit suffix: 500m, 2, 1.5Gi, 3e6. Suffixes: n u m k M G T P E, " +
      "and Ki Mi Gi Ti Pi Ei for powers of 1024.",
  },
  FieldsV1: {
    path: meta,
    shape: "object",
    typescript: "JsonObject",
    description:
      "A set of field paths as a JSON tree with keys f:<name>, k:<keys>, v:<value>, i:<index> and '.'.",
  },
  MicroTime: {
    path: meta,
    shape: "date-time",
    typescript: "string",
    description: "A time with microseconds, RFC 3339.",
  },
  Patch: {
    path: meta,
    shape: "object",
    typescript: "JsonObject",
    description: "The body of a PATCH request.",
  },
  Time: {
    path: meta,
    shape: "date-time",
    typescript: "string",
    description: "A time with seconds, RFC 3339.",
  },
  RawExtension: {
    path: "io.k8s.apimachinery.pkg.runtime",
    shape: "object",
    typescript: "JsonObject",
    description: "An object of a kind that the enclosing one does not fix.",
  },
  IntOrString: {
    path: "io.k8s.apimachinery.pkg.util.intstr",
    shape: "int-or-string",
    typescript: "number | string",
    description: "An integer, or a string such as a percentage or a port's name.",
  },
};

/**
 * Types of one name in several packages of the best version: the package that gets the plain
 * name. The others carry their group's name before it (`EventsEvent`).
 */
export const plainNames: Readonly<Record<string, string>> = {
  EndpointPort: "core.v1",
  Event: "core.v1",
  EventList: "core.v1",
  EventSeries: "core.v1",
  ResourceClaim: "resource.v1",
  ServiceReference: "admissionregistration.v1",
  Subject: "rbac.v1",
  TokenRequest: "authentication.v1",
  WebhookClientConfig: "admissionregistration.v1",
};

/** Written by hand in `src/core/api/object.ts`. */
export const handWritten = "ObjectMeta OwnerReference ManagedFieldsEntry";
