/**
 * The schemas that a custom kind publishes in OpenAPI, versions 2 and 3: its own and that of its lists. They are made
 * at the first request for a document that contains them.
 */
import type { JsonObject, JsonValue } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { isJsonObject } from "#api/json/json-value.ts";
import type { CustomDefinition } from "#apiserver/openapi/model.ts";
import { reference, type OpenApiVersion } from "#apiserver/openapi/definitions.ts";
import type { DefinedVersion } from "./definition.ts";
import { publishedSchema } from "./openapi-schema.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** Name of the definition, such as `com.example.stable.v1.CronTab`. */
function definitionName({ group, version, kind }: ResourceInfo): string {
  return [...group.split(".").reverse(), version, kind].join(".");
}

export function openapiDefinitions(
  row: ResourceInfo,
  read: () => DefinedVersion | undefined,
): readonly CustomDefinition[] {
  const { group, version, kind } = row;
  const name = definitionName(row);
  const listKind = row.listKind ?? `${kind}List`;
  const listName = definitionName({ ...row, kind: listKind });
  return [
    lazyDefinition(name, { group, version, kind }, (form) => objectSchema(row, read(), form)),
    lazyDefinition(listName, { group, version, kind: listKind }, (form) =>
      listSchema({ ...row, listKind }, name, form, selectable(read())),
    ),
  ];
}

function lazyDefinition(
  name: string,
  gvk: CustomDefinition["kinds"][number],
  make: (form: OpenApiVersion) => JsonObject,
): CustomDefinition {
  return {
    name,
    kinds: [gvk],
    get v3() {
      return make("v3");
    },
    get v2() {
      return make("v2");
    },
  };
}

const texts = {
  apiVersion:
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
  kind: "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
  metadata:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  listMetadata:
    "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
} as const;

function objectSchema(
  row: ResourceInfo,
  version: DefinedVersion | undefined,
  form: OpenApiVersion,
): JsonObject {
  // A validated definition contains only plain JSON.
  const given = version?.schema?.openAPIV3Schema as unknown as JsonObject | undefined;
  const tag = [{ group: row.group, kind: row.kind, version: row.version }];
  const tags = { "x-kubernetes-group-version-kind": tag, ...selectable(version) };
  // An open object becomes any object: kubectl refuses every field that a partial list of fields does not name.
  const isOpen = form === "v2" && given?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (given === undefined || isOpen) return { type: "object", ...tags };
  const schema = publishedSchema(given, form);
  const own = isJsonObject(schema["properties"]) ? (schema["properties"] as JsonObject) : {};
  const metadata = described(texts.metadata, "ObjectMeta", form);
  return { ...schema, properties: { ...own, ...typeFields(), metadata }, ...tags };
}

function typeFields(): JsonObject {
  return {
    apiVersion: { description: texts.apiVersion, type: "string" },
    kind: { description: texts.kind, type: "string" },
  };
}

function described(description: string, kind: string, form: OpenApiVersion): JsonValue {
  const ref = reference(`${meta}.${kind}`, form);
  return form === "v2" ? { description, ...ref } : { allOf: [ref], description };
}

function selectable(version: DefinedVersion | undefined): JsonObject {
  const { selectableFields = [] } = version ?? {};
  if (selectableFields.length === 0) return {};
  const fields = selectableFields.map(({ jsonPath }) => ({
    fieldPath: jsonPath.replace(/^\./, ""),
  }));
  return { "x-kubernetes-selectable-fields": fields };
}

function listSchema(
  row: ResourceInfo & { readonly listKind: string },
  item: string,
  form: OpenApiVersion,
  more: JsonObject,
): JsonObject {
  const { group, version, listKind } = row;
  const items = {
    description: `List of ${row.resource}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`,
    items: reference(item, form),
    type: "array",
  };
  const metadata = described(texts.listMetadata, "ListMeta", form);
  return {
    description: `${listKind} is a list of ${row.kind}`,
    properties: { ...typeFields(), items, metadata },
    required: ["items"],
    type: "object",
    "x-kubernetes-group-version-kind": [{ group, kind: listKind, version }],
    ...more,
  };
}
