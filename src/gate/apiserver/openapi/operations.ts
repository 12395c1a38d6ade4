/**
 * Derives the published paths from resource rows: the operations of each path, their names, parameters, bodies and
 * answers. The shapes are those of a real server; `swagger.test.ts` compares them all.
 */
import { ownEntry } from "#base/own.ts";
import { type GroupVersionKind, apiVersionOf } from "#api/object.ts";
import type { ResourceInfo, SubresourceInfo, Verb } from "#api/schema/resource-info.ts";
import { returnsDeletedObject } from "#api/schema/resources.ts";
import type { Content, Method, OperationModel, ParameterModel, PathModel } from "./model.ts";
import {
  deleteCollectionParameters,
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  patchParameters,
  pathParameter,
  pretty,
  resourceVersion,
  subresourceParameters,
  writeParameters,
} from "./parameters.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const deleteOptions = `${meta}.DeleteOptions`;
const patchBody = `${meta}.Patch`;
const status: Content = { definition: `${meta}.Status` };
const watchEvent: Content = { definition: `${meta}.WatchEvent` };

const anyType = ["*/*"];
const protobuf = "application/vnd.kubernetes.protobuf";
const objectTypes = ["application/json", "application/yaml"];
const patchTypes = ["application/json-patch+json", "application/merge-patch+json"];
const strategicPatch = "application/strategic-merge-patch+json";
const applyPatch = "application/apply-patch+yaml";

/** Definition names of kinds, and whether a definition is custom (no protobuf, no strategic merge). */
export interface KindNames {
  definitionOf(gvk: GroupVersionKind): string | undefined;
  isCustom(definition: string): boolean;
}

/** A resource with the texts that every operation needs. */
interface Subject {
  readonly info: ResourceInfo;
  readonly names: KindNames;
  readonly definition: string;
  /** Path of the group-version: `/apis/apps/v1`. */
  readonly base: string;
  /** Group and version in operation names: `AppsV1`. */
  readonly scope: string;
  readonly tag: string;
  /** `Namespaced`, or "" for cluster-scoped resources. */
  readonly namespaced: string;
  readonly objectTypes: readonly string[];
  readonly streamTypes: readonly string[];
  /** Upstream has separate code for custom resources (controller/openapi/builder), with some differences. */
  readonly isCustom: boolean;
}

/** All paths of one resource; none when its kind has no definition. */
export function resourcePaths(info: ResourceInfo, names: KindNames): readonly PathModel[] {
  const definition = names.definitionOf(info);
  if (definition === undefined) return [];
  const subject = makeSubject(info, names, definition);
  return [
    ...collectionPaths(subject),
    ...(hasItem(info) ? [itemPath(subject)] : []),
    ...info.subresources.flatMap((sub) => subresourcePaths(subject, sub)),
    // Upstream does not publish these paths for custom resources.
    ...(info.verbs.includes("watch") && info.isCustom !== true ? watchPaths(subject) : []),
  ].filter((path) => path.operations.length > 0);
}

function makeSubject(info: ResourceInfo, names: KindNames, definition: string): Subject {
  const isCustom = names.isCustom(definition);
  const types = isCustom ? objectTypes : [...objectTypes, protobuf];
  return {
    info,
    names,
    definition,
    base: `${info.group === "" ? "/api" : "/apis"}/${apiVersionOf(info)}`,
    scope: groupWord(info.group, "Upper") + capital(info.version),
    tag: `${groupWord(info.group, "lower")}_${info.version}`,
    namespaced: info.namespaced ? "Namespaced" : "",
    objectTypes: types,
    streamTypes: [...types, ...types.filter((t) => t !== "application/yaml").map(streamType)],
    isCustom,
  };
}

function streamType(mediaType: string): string {
  return `${mediaType};stream=watch`;
}

/** Word for a group in names of operations and tags: `rbac.authorization.k8s.io` -> `RbacAuthorization`. */
export function groupWord(group: string, first: "Upper" | "lower"): string {
  const parts = (group === "" ? "core" : group.replace(/\.k8s\.io$/, "")).split(/[.-]/);
  const word = parts.map(capital).join("");
  return first === "Upper" ? word : word.slice(0, 1).toLowerCase() + word.slice(1);
}

function hasItem(info: ResourceInfo): boolean {
  return info.verbs.includes("get");
}

function collectionPaths(subject: Subject): readonly PathModel[] {
  const { info, base, scope, namespaced } = subject;
  const list = (id: string): readonly OperationModel[] =>
    info.verbs.includes("list") ? [listOperation(subject, id)] : [];
  const within: PathModel = {
    path: `${base}${info.namespaced ? "/namespaces/{namespace}" : ""}/${info.resource}`,
    parameters: [...(info.namespaced ? [namespaceParameter] : []), pretty],
    operations: [
      ...list(`list${scope}${namespaced}${info.kind}`),
      ...(info.verbs.includes("create") ? [createOperation(subject)] : []),
      ...(info.verbs.includes("deletecollection") ? [deleteCollectionOperation(subject)] : []),
    ],
  };
  if (!info.namespaced) return [within];
  const across: PathModel = {
    path: `${base}/${info.resource}`,
    parameters: [pretty],
    operations: list(`list${scope}${info.kind}ForAllNamespaces`),
  };
  return [across, within];
}

function itemPath(subject: Subject): PathModel {
  const { info, scope, namespaced, definition } = subject;
  const id = (verb: string): string => `${verb}${scope}${namespaced}${info.kind}`;
  const text = `the specified ${info.kind}`;
  const operations = readWriteOperations(subject, info.verbs, { id, text, gvk: info, definition });
  if (info.verbs.includes("delete")) operations.push(deleteOperation(subject, id("delete")));
  return { path: itemBase(subject), parameters: itemParameters(subject, info.kind), operations };
}

/** get, update and patch of an object or of its subresource. */
function readWriteOperations(
  subject: Subject,
  verbs: readonly Verb[],
  of: {
    readonly id: (verb: string) => string;
    readonly text: string;
    readonly gvk: GroupVersionKind;
    readonly definition: string;
  },
): OperationModel[] {
  const { id, text, gvk, definition } = of;
  const operations: OperationModel[] = [];
  if (verbs.includes("get")) {
    operations.push(readOperation(subject, id("read"), `read ${text}`, gvk, definition));
  }
  if (verbs.includes("update")) {
    operations.push(replaceOperation(subject, id("replace"), `replace ${text}`, gvk, definition));
  }
  if (verbs.includes("patch")) {
    const words = `partially update ${text}`;
    operations.push(patchOperation(subject, id("patch"), words, gvk, definition));
  }
  return operations;
}

function itemBase({ base, info }: Subject): string {
  return `${base}${info.namespaced ? "/namespaces/{namespace}" : ""}/${info.resource}/{name}`;
}

function itemParameters({ info }: Subject, kind: string): readonly ParameterModel[] {
  return [nameParameter(kind), ...(info.namespaced ? [namespaceParameter] : []), pretty];
}

function operation(
  subject: Subject,
  method: Method,
  action: string,
  rest: Pick<OperationModel, "id" | "description" | "parameters" | "responses"> &
    Partial<OperationModel>,
): OperationModel {
  return {
    method,
    action,
    tag: subject.tag,
    consumes: subject.isCustom ? subject.objectTypes : anyType,
    produces: subject.objectTypes,
    gvk: kindOf(subject.info),
    ...rest,
  };
}

function kindOf({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}

function listOperation(subject: Subject, id: string): OperationModel {
  const { info, names, isCustom } = subject;
  const canWatch = info.verbs.includes("watch") && !isCustom;
  const list = names.definitionOf({ ...kindOf(info), kind: info.listKind ?? `${info.kind}List` });
  return operation(subject, "get", "list", {
    id,
    description: `list ${canWatch ? "or watch " : ""}objects of kind ${info.kind}`,
    produces: isCustom ? subject.objectTypes : subject.streamTypes,
    parameters: listParameters,
    responses: { "200": list === undefined ? "text" : { definition: list } },
  });
}

function createOperation(subject: Subject): OperationModel {
  const { info, definition } = subject;
  return operation(subject, "post", "post", {
    id: `create${subject.scope}${subject.namespaced}${info.kind}`,
    description: `create ${withArticle(info.kind)}`,
    body: { definition, required: true },
    parameters: writeParameters,
    responses: createdResponse(definition),
  });
}

function createdResponse(definition: string): OperationModel["responses"] {
  return { "200": { definition }, "201": { definition }, "202": { definition } };
}

function deleteCollectionOperation(subject: Subject): OperationModel {
  const { info, isCustom } = subject;
  const how = isCustom
    ? { parameters: listParameters }
    : {
        body: { definition: deleteOptions, required: false },
        parameters: deleteCollectionParameters,
      };
  return operation(subject, "delete", "deletecollection", {
    id: `delete${subject.scope}Collection${subject.namespaced}${info.kind}`,
    description: `delete collection of ${info.kind}`,
    ...how,
    responses: { "200": status },
  });
}

function deleteOperation(subject: Subject, id: string): OperationModel {
  const { info, definition } = subject;
  const answer: Content = returnsDeletedObject(info) ? { definition } : status;
  return operation(subject, "delete", "delete", {
    id,
    description: `delete ${withArticle(info.kind)}`,
    body: { definition: deleteOptions, required: false },
    parameters: deleteParameters,
    responses: { "200": answer, "202": answer },
  });
}

function readOperation(
  subject: Subject,
  id: string,
  description: string,
  gvk: GroupVersionKind,
  definition: string,
): OperationModel {
  return operation(subject, "get", "get", {
    id,
    description,
    gvk: kindOf(gvk),
    parameters: subject.isCustom ? [resourceVersion] : [],
    responses: { "200": { definition } },
  });
}

function replaceOperation(
  subject: Subject,
  id: string,
  description: string,
  gvk: GroupVersionKind,
  definition: string,
): OperationModel {
  return operation(subject, "put", "put", {
    id,
    description,
    gvk: kindOf(gvk),
    body: { definition, required: true },
    parameters: writeParameters,
    responses: { "200": { definition }, "201": { definition } },
  });
}

function patchOperation(
  subject: Subject,
  id: string,
  description: string,
  gvk: GroupVersionKind,
  definition: string,
): OperationModel {
  const { isCustom } = subject;
  const strategic = isCustom ? [] : [strategicPatch];
  return operation(subject, "patch", "patch", {
    id,
    description,
    gvk: kindOf(gvk),
    consumes: [...patchTypes, ...strategic, applyPatch],
    body: { definition: patchBody, required: true },
    parameters: patchParameters,
    responses: { "200": { definition }, ...(isCustom ? {} : { "201": { definition } }) },
  });
}

const connectMethods: Readonly<Record<string, readonly Method[]>> = {
  proxy: ["delete", "get", "head", "options", "patch", "post", "put"],
  attach: ["get", "post"],
  exec: ["get", "post"],
  portforward: ["get", "post"],
};

function subresourcePaths(subject: Subject, sub: SubresourceInfo): readonly PathModel[] {
  const methods = ownEntry(connectMethods, sub.name);
  if (methods !== undefined && sub.kind.endsWith("Options")) {
    return connectPaths(subject, sub, methods);
  }
  const gvk = {
    group: sub.group ?? subject.info.group,
    version: sub.version ?? subject.info.version,
    kind: sub.kind,
  };
  const definition = subject.names.definitionOf(gvk);
  if (definition === undefined) return [];
  return [
    {
      path: `${itemBase(subject)}/${sub.name}`,
      parameters: itemParameters(subject, sub.kind),
      operations: subresourceOperations(subject, sub, gvk, definition),
    },
  ];
}

function subresourceOperations(
  subject: Subject,
  sub: SubresourceInfo,
  gvk: GroupVersionKind,
  definition: string,
): readonly OperationModel[] {
  const { info, scope, namespaced } = subject;
  const id = (verb: string): string =>
    `${verb}${scope}${namespaced}${info.kind}${capital(sub.name)}`;
  const text = `${sub.name} of the specified ${info.kind}`;
  if (sub.name === "log") return [logOperation(subject, id("read"), `read ${text}`)];
  const shown = subject.isCustom ? info : gvk;
  const of = { id, text, gvk: shown, definition };
  const operations = readWriteOperations(subject, sub.verbs, of);
  if (sub.verbs.includes("create")) {
    const words = `create ${sub.name} of ${withArticle(info.kind)}`;
    operations.push({
      ...operation(subject, "post", "post", {
        id: id("create"),
        description: words,
        gvk: kindOf(gvk),
        body: { definition, required: true },
        parameters: writeParameters,
        responses: createdResponse(definition),
      }),
    });
  }
  return operations;
}

function logOperation(subject: Subject, id: string, description: string): OperationModel {
  return operation(subject, "get", "get", {
    id,
    description,
    produces: ["text/plain", ...subject.objectTypes],
    parameters: [...(ownEntry(subresourceParameters, `${subject.info.kind}/log`) ?? [])],
    responses: { "200": "text" },
  });
}

function connectPaths(
  subject: Subject,
  sub: SubresourceInfo,
  methods: readonly Method[],
): readonly PathModel[] {
  const { info, scope, namespaced } = subject;
  const parameters = [
    ...itemParameters(subject, sub.kind).filter((p) => p !== pretty),
    ...(ownEntry(subresourceParameters, `${info.kind}/${sub.name}`) ?? []),
  ];
  const operations = (suffix: string): readonly OperationModel[] =>
    methods.map((method) =>
      operation(subject, method, "connect", {
        id: `connect${scope}${capital(method)}${namespaced}${info.kind}${capital(sub.name)}${suffix}`,
        description: `connect ${method.toUpperCase()} requests to ${sub.name} of ${info.kind}`,
        gvk: { group: info.group, version: info.version, kind: sub.kind },
        produces: anyType,
        parameters: [],
        responses: { "200": "text" },
      }),
    );
  const path = `${itemBase(subject)}/${sub.name}`;
  const plain: PathModel = { path, parameters, operations: operations("") };
  if (sub.name !== "proxy") return [plain];
  const deeper: PathModel = {
    path: `${path}/{path}`,
    parameters: [...parameters, pathParameter],
    operations: operations("WithPath"),
  };
  return [plain, deeper];
}

/** The deprecated `/watch/` paths. */
function watchPaths(subject: Subject): readonly PathModel[] {
  const { info, base, scope, namespaced } = subject;
  const within = info.namespaced ? "/namespaces/{namespace}" : "";
  const inside = info.namespaced ? [namespaceParameter] : [];
  const list: PathModel = {
    path: `${base}/watch${within}/${info.resource}`,
    parameters: [...inside, ...listParameters, pretty],
    operations: [
      watchOperation(subject, `watch${scope}${namespaced}${info.kind}List`, "watchlist"),
    ],
  };
  const item: PathModel = {
    path: `${base}/watch${within}/${info.resource}/{name}`,
    parameters: [...itemParameters(subject, info.kind), ...listParameters],
    operations: [watchOperation(subject, `watch${scope}${namespaced}${info.kind}`, "watch")],
  };
  if (!info.namespaced) return [list, item];
  const across: PathModel = {
    path: `${base}/watch/${info.resource}`,
    parameters: [...listParameters, pretty],
    operations: [
      watchOperation(subject, `watch${scope}${info.kind}ListForAllNamespaces`, "watchlist"),
    ],
  };
  return [across, list, item];
}

function watchOperation(subject: Subject, id: string, action: string): OperationModel {
  const what = action === "watch" ? "an object" : "a list of objects";
  return operation(subject, "get", action, {
    id,
    description: `watch ${what} of kind ${subject.info.kind}; deprecated: list with watch=true instead`,
    produces: subject.streamTypes,
    parameters: [],
    responses: { "200": watchEvent },
  });
}

/** Returns the kind with its article: `a Pod`, `an Ingress`, `Endpoints`. */
function withArticle(kind: string): string {
  if (/[^s]s$/.test(kind) && !/(?:ss|us)$/.test(kind)) return kind;
  return `${/^[AEIOU]/.test(kind) ? "an" : "a"} ${kind}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
