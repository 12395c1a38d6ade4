/**
 * What the coordinator needs at home: the kinds ClusterProfile (SIG Multicluster's, cluster-inventory-api v1alpha1) and
 * Placement, and the policy that a placement copies and changes nothing that its author may not read and change.
 */
import type { AnyObject } from "#api/object.ts";
import { group } from "../names.ts";
import { conditions, definition, short } from "./definition.ts";
import { placementSchema, resourcesMax } from "./placement-schema.ts";

/** Has the names and types of the standard. Fields that the coordinator does not read are preserved as given. */
const clusterProfileSchema = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["clusterManager"],
      properties: {
        displayName: short,
        clusterManager: {
          type: "object",
          required: ["name"],
          properties: { name: short },
          "x-kubernetes-validations": [
            { rule: "self == oldSelf", message: "ClusterManager is immutable" },
          ],
        },
      },
    },
    status: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: {
        conditions,
        version: { type: "object", properties: { kubernetes: short } },
        properties: {
          type: "array",
          maxItems: 128,
          items: {
            type: "object",
            required: ["name", "value"],
            properties: {
              name: { type: "string", minLength: 1, maxLength: 253 },
              value: { type: "string", minLength: 1, maxLength: 1_024 },
              lastObservedTime: { type: "string", format: "date-time" },
            },
          },
        },
      },
    },
  },
};

const healthy = '.status.conditions[?(@.type=="ControlPlaneHealthy")].status';

const clusterProfiles = definition({
  group: "multicluster.x-k8s.io",
  kind: "ClusterProfile",
  plural: "clusterprofiles",
  schema: clusterProfileSchema,
  columns: [
    { name: "Healthy", type: "string", jsonPath: healthy },
    { name: "Version", type: "string", jsonPath: ".status.version.kubernetes" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
});

const placements = definition({
  group,
  kind: "Placement",
  plural: "placements",
  schema: placementSchema,
  columns: [
    { name: "Placed", type: "string", jsonPath: '.status.conditions[?(@.type=="Placed")].status' },
    { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Placed")].reason' },
    { name: "Regions", type: "string", jsonPath: ".status.regions" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
});

const policyName = `placements.${group}`;

/**
 * CEL expression for the plural, guessed like the coordinator guesses it (placement.ts), so that the policy checks
 * the resource that the coordinator reads.
 */
function resourceOf(at: string): string {
  const kind = `${at}.kind.lowerAscii()`;
  const guessed = [
    `${kind}.endsWith('endpoints') ? ${kind}`,
    `${kind}.endsWith('s') ? ${kind} + 'es'`,
    `${kind}.endsWith('y') ? ${kind}.substring(0, size(${kind}) - 1) + 'ies'`,
    `${kind} + 's'`,
  ].join(" : ");
  return `(has(${at}.resource) && ${at}.resource != '' ? ${at}.resource : (${guessed}))`;
}

function mayOf(at: string, verb: string): string {
  const of = `(${at}.apiVersion.contains('/') ? ${at}.apiVersion.split('/')[0] : '')`;
  return `authorizer.group(${of}).resource(${resourceOf(at)}).namespace(object.metadata.namespace).check('${verb}').allowed()`;
}

function mayRead(resource: string): string {
  return `authorizer.group('').resource('${resource}').namespace(object.metadata.namespace).check('get').allowed()`;
}

/** Makes one expression per array position, because the cost limit of an expression allows only two authorizer checks. */
function validations(): readonly object[] {
  const each = Array.from({ length: resourcesMax }, (_, at) => `object.spec.resources[${at}]`);
  const reads = each.map((at, i) => ({
    expression: `size(object.spec.resources) <= ${i} || ${mayOf(at, "get")}`,
    message: `you may not get what spec.resources[${i}] selects, so a placement of yours may not copy it`,
    reason: "Forbidden",
  }));
  const writes = each.map((at, i) => ({
    expression: `!has(object.spec.overrides) || size(object.spec.overrides) == 0 || size(object.spec.resources) <= ${i} || ${mayOf(at, "update")}`,
    message: `you may not update what spec.resources[${i}] selects, so a placement of yours may not override it`,
    reason: "Forbidden",
  }));
  const dependencies = [
    ["Secret", "secrets"],
    ["ConfigMap", "configmaps"],
  ].map(([kind = "", resource = ""]) => ({
    expression: `(has(object.spec.dependencies) && !object.spec.dependencies.exists(d, d == '${kind}')) || ${mayRead(resource)}`,
    message: `you may not get ${resource} of this namespace: leave ${kind} out of spec.dependencies`,
    reason: "Forbidden",
  }));
  return [...reads, ...writes, ...dependencies];
}

const policy: AnyObject = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: policyName },
  spec: {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: [group],
          apiVersions: ["*"],
          resources: ["placements"],
          operations: ["CREATE", "UPDATE"],
        },
      ],
    },
    matchConditions: [
      { name: "spec-changed", expression: "oldObject == null || object.spec != oldObject.spec" },
    ],
    validations: validations(),
  },
};

const binding: AnyObject = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: policyName },
  spec: { policyName, validationActions: ["Deny"] },
};

/** In installation order: the policy exists before the first placement can be created. */
export const homeObjects: readonly { readonly resource: string; readonly object: AnyObject }[] = [
  { resource: "validatingadmissionpolicies", object: policy },
  { resource: "validatingadmissionpolicybindings", object: binding },
  { resource: "customresourcedefinitions", object: clusterProfiles },
  { resource: "customresourcedefinitions", object: placements },
];
