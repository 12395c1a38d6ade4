/**
 * The variables of an admission expression besides the objects: `request` and `namespaceObject`, as JSON,
 * with the types that expressions are checked against.
 *
 * Source: k8s.io/apiserver pkg/admission/plugin/cel (BuildRequestType, BuildNamespaceType,
 * CreateAdmissionRequest, CreateNamespaceObject), 1.36.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { AnyObject, GroupVersionKind, JsonObject, JsonValue } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { dynNode, type Schema, type SchemaNode, schemaNode } from "#cel/schema-types.ts";
import { dictionary } from "#base/own.ts";
import { must } from "#base/assert.ts";
import { kindOf } from "../matching/rule-index.ts";

interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

const textSchema: Schema = { type: "string" };
const timeSchema: Schema = { type: "string", format: "date-time" };
const textsSchema: Schema = { type: "array", items: textSchema };
const textMapSchema: Schema = { type: "object", additionalProperties: textSchema };

function objectSchema(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Schema {
  return { type: "object", properties, required: [...required] };
}

const kindSchema = objectSchema({ group: textSchema, version: textSchema, kind: textSchema }, [
  "group",
  "version",
  "kind",
]);
const resourceSchema = objectSchema(
  { group: textSchema, version: textSchema, resource: textSchema },
  ["group", "version", "resource"],
);
const userSchema = objectSchema(
  {
    username: textSchema,
    uid: textSchema,
    groups: textsSchema,
    extra: { type: "object", additionalProperties: textsSchema },
  },
  [],
);

/** Schema of `request`. Objects are separate variables, and the uid has no use inside the process. */
const requestSchema: Schema = objectSchema(
  {
    kind: kindSchema,
    resource: resourceSchema,
    subResource: textSchema,
    requestKind: kindSchema,
    requestResource: resourceSchema,
    requestSubResource: textSchema,
    name: textSchema,
    namespace: textSchema,
    operation: textSchema,
    userInfo: userSchema,
    dryRun: { type: "boolean" },
  },
  ["kind", "resource", "requestKind", "requestResource", "name", "operation", "userInfo"],
);

const metadataSchema = objectSchema(
  {
    name: textSchema,
    generateName: textSchema,
    namespace: textSchema,
    labels: textMapSchema,
    annotations: textMapSchema,
    UID: textSchema,
    creationTimestamp: timeSchema,
    deletionGracePeriodSeconds: { type: "integer" },
    deletionTimestamp: timeSchema,
    generation: { type: "integer" },
    resourceVersion: textSchema,
    finalizers: textsSchema,
  },
  [],
);
const conditionSchema = objectSchema(
  {
    status: textSchema,
    type: textSchema,
    lastTransitionTime: timeSchema,
    message: textSchema,
    reason: textSchema,
  },
  [],
);

const namespaceSchema: Schema = objectSchema(
  {
    metadata: metadataSchema,
    spec: objectSchema({ finalizers: textsSchema }, []),
    status: objectSchema(
      { conditions: { type: "array", items: conditionSchema }, phase: textSchema },
      [],
    ),
  },
  [],
);

/** Type of `request`. Its options have no type, because they are of several kinds. */
export const requestNode: SchemaNode = withOptions(nodeOf(requestSchema, "AdmissionRequest"));
export const namespaceNode: SchemaNode = nodeOf(namespaceSchema, "Namespace");

function nodeOf(schema: Schema, name: string): SchemaNode {
  const node = must(schemaNode(schema, `kubernetes.${name}`), "an object schema has a type");
  return { ...unescaped(node), isNullable: true };
}

/** Restores unescaped names of fields: `request.namespace` is valid, although `namespace` is a reserved word. */
function unescaped(node: SchemaNode): SchemaNode {
  const fields = [...node.fields.values()].map(
    ({ name, node: child }) => [name, { name, node: unescaped(child) }] as const,
  );
  const element = node.element === undefined ? undefined : unescaped(node.element);
  return { ...node, element, fields: new Map(fields) };
}

function withOptions(node: SchemaNode): SchemaNode {
  return {
    ...node,
    fields: new Map(node.fields).set("options", { name: "options", node: dynNode }),
  };
}

/** Returns `request` for an admission request. Empty fields that Go omits are absent. */
export function describeRequest(
  request: AdmissionRequest,
  matched: ResourceInfo,
  kind: GroupVersionKind,
): JsonObject {
  const { info, subresource, user, name, namespace } = request;
  const described: Record<string, JsonValue> = {
    kind: shownKind(kind),
    resource: resourceOf(matched),
    requestKind: shownKind(kindOf(info, subresource)),
    requestResource: resourceOf(info),
    operation: request.operation,
    userInfo: describeUser(user),
    dryRun: request.dryRun,
    options: (request.options ?? null) as JsonValue, // plain JSON data
  };
  if (subresource !== "") {
    described["subResource"] = subresource;
    described["requestSubResource"] = subresource;
  }
  if (name !== "") described["name"] = name;
  if (namespace !== "") described["namespace"] = namespace;
  return described;
}

function shownKind({ group, version, kind }: GroupVersionKind): JsonObject {
  return { group, version, kind };
}

function resourceOf({ group, version, resource }: GroupVersionResource): JsonObject {
  return { group, version, resource };
}

function describeUser({ name, uid, groups, extra }: AdmissionRequest["user"]): JsonObject {
  return {
    username: name,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(extra === undefined ? {} : { extra: extra as JsonObject }),
  };
}

const keptMetadata = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "finalizers",
] as const;

/** Returns `namespaceObject`: the namespace without fields that expressions may not see (managers, owners). */
export function describeNamespace(namespace: AnyObject): JsonObject {
  const { metadata = {}, spec, status } = namespace;
  const kept = dictionary<JsonValue>();
  for (const field of keptMetadata) {
    const value = metadata[field];
    if (value !== undefined) kept[field] = value as JsonValue;
  }
  return {
    metadata: kept,
    ...(spec === undefined ? {} : { spec: spec as JsonValue }),
    ...(status === undefined ? {} : { status: status as JsonValue }),
  };
}
