/**
 * Serves the kinds that are only created, never stored: SelfSubjectReview, SubjectAccessReviews, SelfSubjectRulesReview
 * and TokenReview. The answer is 201 with the request's object and its status.
 */
import { given } from "#base/given.ts";
import { ownEntry } from "#base/own.ts";
import { checkNamespaceOf } from "#api/meta.ts";
import type { AnyObject, ObjectMeta } from "#api/object.ts";
import { badRequest, type FieldError, invalid } from "#api/status.ts";
import { invalidValue } from "#api/validation/errors.ts";
import { goStruct } from "#api/validation/go-struct.ts";
import type { Attributes } from "#auth/auth.ts";
import { formatTime } from "#api/values/time.ts";
import { tokenOfHeader } from "#platform/bearer-token.ts";
import type { PlainResponse, UserInfo } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { admissionRequest } from "./admission-request.ts";
import { answerObject, formFor } from "./answer.ts";
import { readObject } from "./body.ts";
import type { ApiDeps } from "./deps.ts";
import type { ServedKind } from "./kind.ts";
import { trackManagedFields } from "./managed.ts";
import { noteObject } from "./request-note.ts";
import { reviewSelector } from "./review-selector.ts";
import { writeOptions, writeQuery } from "./write-options.ts";

type Review = (
  deps: ApiDeps,
  context: RequestContext,
  object: AnyObject,
) => object | Promise<object>;

const reviews: Readonly<Record<string, Review>> = {
  "authentication.k8s.io/tokenreviews": tokenReview,
  "authentication.k8s.io/selfsubjectreviews": (_deps, context) => ({
    userInfo: userFields(context.user),
  }),
  "authorization.k8s.io/subjectaccessreviews": (deps, _context, object) =>
    accessReview(deps, object, specUser(object)),
  "authorization.k8s.io/localsubjectaccessreviews": localAccessReview,
  "authorization.k8s.io/selfsubjectaccessreviews": (deps, context, object) =>
    accessReview(deps, object, context.user),
  "authorization.k8s.io/selfsubjectrulesreviews": rulesReview,
};

export function isReview(kind: ServedKind): boolean {
  return ownEntry(reviews, `${kind.resource.group}/${kind.resource.resource}`) !== undefined;
}

export async function createReview(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = writeQuery("CreateOptions", context.query);
  const read = placed(
    context,
    kind,
    await readObject(context, kind, deps.bodies, query.fieldValidation),
  );
  noteObject(context, unanswered(kind, read));
  const tracked = await trackManagedFields(context, kind, query, undefined, read);
  const object = await admitted(deps, context, kind, unanswered(kind, tracked), query);
  const review = ownEntry(reviews, `${kind.resource.group}/${kind.resource.resource}`);
  const status = (await review?.(deps, context, object)) ?? {};
  const { pace } = context;
  await pace.step();
  const metadata = { ...object.metadata, ...reviewMetadata(context, kind) };
  return answerObject(context, kind, form, 201, { ...object, metadata, status });
}

/** Sets the namespace. Only the local review has one; others lose theirs. @throws ApiError 400. */
function placed({ place }: RequestContext, { resource }: ServedKind, read: AnyObject): AnyObject {
  if (read.metadata === undefined) return read;
  const { namespace: _, name, ...rest } = read.metadata;
  if (!resource.namespaced) return { ...read, metadata: { ...given({ name }), ...rest } };
  checkNamespaceOf(read, place.namespace);
  const { namespace } = place;
  return { ...read, metadata: { ...given({ name }), namespace, ...rest } };
}

/** Adds the status that Go writes before there is an answer: a refusal. */
function unanswered({ resource }: ServedKind, object: AnyObject): AnyObject {
  if (!resource.resource.endsWith("accessreviews")) return object;
  return { ...object, status: { allowed: false } };
}

/** Admits a review like any created object, because webhooks may match it. */
async function admitted(
  { admission }: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
  object: AnyObject,
  query: ReturnType<typeof writeQuery>,
): Promise<AnyObject> {
  const request = admissionRequest(context, kind, {
    operation: "CREATE",
    subresource: "",
    name: object.metadata?.name ?? "",
    object,
    oldObject: undefined,
    dryRun: query.dryRun,
    attempt: {},
    options: writeOptions("CreateOptions", query),
  });
  const mutated = await admission.mutate(request);
  await admission.validate({ ...request, object: mutated });
  return mutated;
}

/** Metadata of the answer. SelfSubjectReview has a creation time, as upstream; only the local review has a namespace. */
function reviewMetadata({ place, nowMs }: RequestContext, kind: ServedKind): ObjectMeta {
  if (kind.resource.resource === "selfsubjectreviews")
    return { creationTimestamp: formatTime(nowMs) };
  return place.namespace === "" ? {} : { namespace: place.namespace };
}

interface AccessSpec {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes?: Readonly<Record<string, string>>;
  readonly nonResourceAttributes?: Readonly<Record<string, string>>;
}

function accessSpec(object: AnyObject): AccessSpec {
  return (object["spec"] ?? {}) as AccessSpec; // checked against the schema of the review
}

function specUser(object: AnyObject): UserInfo {
  const { user = "", uid, groups = [], extra } = accessSpec(object);
  return {
    name: user,
    ...given({ uid }),
    groups,
    ...given({ extra }),
  };
}

function accessReview(deps: ApiDeps, object: AnyObject, user: UserInfo): Promise<object> {
  refuse([...accessFaults(object, accessSpec(object)), ...metadataFaults(object, "must be empty")]);
  return decided(deps, accessSpec(object), user);
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  // The error has no kind and no name, as upstream.
  throw invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
}

async function decided(deps: ApiDeps, spec: AccessSpec, user: UserInfo): Promise<object> {
  const decision = await deps.authorizer.authorize(accessAttributes(user, spec));
  return {
    allowed: decision.allowed,
    ...(decision.denied ? { denied: true } : {}),
    ...(decision.reason === "" ? {} : { reason: decision.reason }),
    ...given({ evaluationError: decision.error }),
  };
}

/** Refuses metadata: a review is not stored. */
function metadataFaults(object: AnyObject, detail: string): readonly FieldError[] {
  const { managedFields: _, namespace, ...rest } = object.metadata ?? {};
  const isPlaced = detail.includes("namespace");
  if (Object.keys(rest).length === 0 && (isPlaced || namespace === undefined)) return [];
  return [invalidValue("metadata", object.metadata, detail)];
}

function accessFaults(object: AnyObject, spec: AccessSpec): readonly FieldError[] {
  const errors: FieldError[] = [];
  const reason = "FieldValueInvalid";
  const both = spec.resourceAttributes !== undefined && spec.nonResourceAttributes !== undefined;
  const neither = spec.resourceAttributes === undefined && spec.nonResourceAttributes === undefined;
  if (both || neither) {
    const why = both ? "cannot be specified in combination with resourceAttributes" : "";
    const field = both ? "spec.nonResourceAttributes" : "spec.resourceAttributes";
    const must = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    const value = both
      ? JSON.stringify(goStruct(spec.nonResourceAttributes, { path: "", verb: "" }))
      : "null";
    errors.push({ reason, field, message: `Invalid value: ${value}: ${why === "" ? must : why}` });
  }
  const self = object.kind === "SelfSubjectAccessReview";
  if (!self && (spec.user ?? "") === "" && (spec.groups ?? []).length === 0) {
    const message = 'Invalid value: "": at least one of user or group must be specified';
    errors.push({ reason, field: "spec.user", message });
  }
  return errors;
}

function accessAttributes(user: UserInfo, spec: AccessSpec): Attributes {
  const asked = spec.resourceAttributes ?? spec.nonResourceAttributes ?? {};
  const text = (field: string): string => asked[field] ?? "";
  const fieldSelector = reviewSelector(spec.resourceAttributes ?? {});
  return {
    user,
    verb: text("verb"),
    path: text("path"),
    isResourceRequest: spec.resourceAttributes !== undefined,
    group: text("group"),
    version: text("version"),
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name"),
    ...given({ fieldSelector }),
  };
}

function localAccessReview(
  deps: ApiDeps,
  context: RequestContext,
  object: AnyObject,
): Promise<object> {
  const spec = accessSpec(object);
  const errors = [
    ...accessFaults(object, spec),
    ...metadataFaults(object, "must be empty except for namespace"),
  ];
  const { resourceAttributes, nonResourceAttributes } = spec;
  const namespace = resourceAttributes?.["namespace"] ?? "";
  if (resourceAttributes !== undefined && namespace !== context.place.namespace) {
    const path = "spec.resourceAttributes.namespace";
    errors.push(invalidValue(path, namespace, "must match metadata.namespace"));
  }
  if (nonResourceAttributes !== undefined) {
    const path = "spec.nonResourceAttributes";
    const shown = goStruct(nonResourceAttributes, { path: "", verb: "" });
    errors.push(invalidValue(path, shown, "disallowed on this kind of request"));
  }
  refuse(errors);
  return decided(deps, spec, specUser(object));
}

function rulesReview(deps: ApiDeps, context: RequestContext, object: AnyObject): object {
  const spec = (object["spec"] ?? {}) as { readonly namespace?: string };
  if ((spec.namespace ?? "") === "") throw badRequest("no namespace on request");
  const { rules, incomplete, error } = deps.authorizer.rulesFor(context.user, spec.namespace ?? "");
  const isPath = (rule: (typeof rules)[number]): boolean => rule.nonResourceURLs !== undefined;
  return {
    resourceRules: rules.filter((rule) => !isPath(rule)),
    nonResourceRules: rules.filter(isPath),
    incomplete,
    ...given({ evaluationError: error }),
  };
}

async function tokenReview(
  deps: ApiDeps,
  _context: RequestContext,
  object: AnyObject,
): Promise<object> {
  const spec = (object["spec"] ?? {}) as { readonly token?: string; readonly audiences?: string[] };
  if ((spec.token ?? "") === "") {
    throw badRequest("token is required for TokenReview in authentication");
  }
  // The token is read as in a header: text after a space is ignored, and after two spaces there is no token.
  const carried = tokenOfHeader(`Bearer ${spec.token ?? ""}`);
  if (carried.kind !== "token") return invalidToken;
  const result = await deps.tokens?.authenticateToken(carried.token, spec.audiences ?? []);
  switch (result?.kind) {
    case undefined:
    case "none":
      return invalidToken;
    case "rejected":
      return { user: {}, error: result?.message ?? "" };
    case "user":
      return tokenUser(result);
    default:
      return {};
  }
}

const invalidToken = { user: {}, error: "invalid bearer token" };

function tokenUser(
  result: { readonly user: UserInfo; readonly audiences: readonly string[] } | undefined,
): object {
  if (result === undefined) return {};
  const { user, audiences } = result;
  return { authenticated: true, user: userFields(user), audiences };
}

function userFields(user: UserInfo): object {
  return {
    username: user.name,
    ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
    ...(user.groups.length === 0 ? {} : { groups: user.groups }),
    ...given({ extra: user.extra }),
  };
}
