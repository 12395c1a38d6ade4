/**
 * Writes paths in OpenAPI version 2 or 3. As in upstream, the parameters that all operations of a path share are moved
 * to the path, and parameters are sorted by name.
 */
import type { JsonObject, JsonValue } from "#api/object.ts";
import { given } from "#base/given.ts";
import { reference, type OpenApiVersion } from "./definitions.ts";
import type { Content, OperationModel, ParameterModel, PathModel } from "./model.ts";

export function sortedPaths(paths: readonly PathModel[]): readonly PathModel[] {
  return [...paths].sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function renderPath(path: PathModel, version: OpenApiVersion): JsonObject {
  const shared = listSharedParameters(path);
  const parameters = [...path.parameters, ...shared];
  const operations = path.operations.map((operation): [string, JsonValue] => [
    operation.method,
    version === "v2" ? operationV2(operation, shared) : operationV3(operation, shared),
  ]);
  return {
    ...Object.fromEntries(operations.sort(([a], [b]) => (a < b ? -1 : 1))),
    ...(parameters.length === 0 ? {} : { parameters: renderParameters(parameters, version) }),
  };
}

function listSharedParameters({ operations }: PathModel): readonly ParameterModel[] {
  const [first, ...others] = operations;
  if (first === undefined) return [];
  return first.parameters.filter((p) => others.every((o) => o.parameters.includes(p)));
}

function ownParameters(
  operation: OperationModel,
  shared: readonly ParameterModel[],
): readonly ParameterModel[] {
  return operation.parameters.filter((p) => !shared.includes(p));
}

function renderParameters(
  parameters: readonly ParameterModel[],
  version: OpenApiVersion,
): readonly JsonObject[] {
  const sorted = [...parameters].sort((a, b) =>
    a.name === b.name ? (a.in < b.in ? -1 : 1) : a.name < b.name ? -1 : 1,
  );
  return sorted.map((parameter) => renderParameter(parameter, version));
}

function renderParameter(parameter: ParameterModel, version: OpenApiVersion): JsonObject {
  const { description, name, type } = parameter;
  const schema = { type, uniqueItems: true };
  return {
    description,
    in: parameter.in,
    name,
    ...(parameter.in === "path" ? { required: true } : {}),
    ...(version === "v2" ? schema : { schema }),
  };
}

function operationV2(operation: OperationModel, shared: readonly ParameterModel[]): JsonObject {
  const parameters = [
    ...bodyParameter(operation),
    ...renderParameters(ownParameters(operation, shared), "v2"),
  ];
  return {
    ...(operation.consumes.length === 0 ? {} : { consumes: operation.consumes }),
    description: operation.description,
    operationId: operation.id,
    ...(parameters.length === 0 ? {} : { parameters }),
    produces: operation.produces,
    responses: responsesV2(operation),
    schemes: ["https"],
    tags: [operation.tag],
    ...extensions(operation),
  };
}

function bodyParameter({ body }: OperationModel): readonly JsonObject[] {
  if (body === undefined) return [];
  const required = body.required ? { required: true } : {};
  return [{ in: "body", name: "body", ...required, schema: reference(body.definition, "v2") }];
}

function responsesV2({ responses }: OperationModel): JsonObject {
  const entries = Object.entries(responses).map(([code, content]): [string, JsonObject] => [
    code,
    { description: statusText(code), schema: contentSchema(content, "v2") },
  ]);
  return { ...Object.fromEntries(entries), "401": { description: "Unauthorized" } };
}

function operationV3(operation: OperationModel, shared: readonly ParameterModel[]): JsonObject {
  const parameters = renderParameters(ownParameters(operation, shared), "v3");
  return {
    description: operation.description,
    operationId: operation.id,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(operation),
    responses: responsesV3(operation),
    tags: [operation.tag],
    ...extensions(operation),
  };
}

function requestBody({ body, consumes }: OperationModel): JsonObject {
  if (body === undefined) return {};
  const required = body.required ? { required: true } : {};
  const content: Content = { definition: body.definition };
  return { requestBody: { content: contentByType(consumes, content), ...required } };
}

function responsesV3({ produces, responses }: OperationModel): JsonObject {
  const entries = Object.entries(responses).map(([code, content]): [string, JsonObject] => [
    code,
    { content: contentByType(produces, content), description: statusText(code) },
  ]);
  return { ...Object.fromEntries(entries), "401": { description: "Unauthorized" } };
}

function contentByType(types: readonly string[], content: Content): JsonObject {
  const schema = contentSchema(content, "v3");
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function contentSchema(content: Content, version: OpenApiVersion): JsonObject {
  return content === "text" ? { type: "string" } : reference(content.definition, version);
}

function extensions({ action, gvk }: OperationModel): JsonObject {
  return {
    ...given({ "x-kubernetes-action": action }),
    ...(gvk === undefined ? {} : { "x-kubernetes-group-version-kind": { ...gvk } }),
  };
}

function statusText(code: string): string {
  return code === "201" ? "Created" : code === "202" ? "Accepted" : "OK";
}
