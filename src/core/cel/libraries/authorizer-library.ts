/**
 * kubernetes.authz and kubernetes.authzSelectors: access checks from expressions.
 *
 * Synchronous: the API server's authorizers decide from what they hold in memory, so `decide` returns its
 * answer at once and evaluation never waits. Every step makes a new value; only check() decides.
 */
import { dnsLabelName, dnsSubdomainName } from "#api/names.ts";
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import type { FieldSelector } from "#api/selectors/field-selector.ts";
import { SelectorError, parseLabelSelector } from "#api/selectors/label-selector.ts";
import type { LabelSelector } from "#api/selectors/label-selector.ts";
import { FunctionError } from "./limits.ts";
import { declare, member, noSuchOverload, textOf, types } from "./library.ts";
import type { Library, LibraryOverload, LibraryType } from "./library.ts";
import { OpaqueValue } from "./values.ts";
import type { Value } from "./values.ts";

/** Undefined: the user of the request. */
type AccessSubject = { readonly namespace: string; readonly serviceAccount: string } | undefined;

interface ResourceAccess {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent: no selector was given, or it does not parse. */
  readonly fieldSelector?: FieldSelector;
  readonly labelSelector?: LabelSelector;
}

export type AccessCheck = { readonly subject: AccessSubject; readonly verb: string } & (
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "resource"; readonly resource: ResourceAccess }
);

export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
  /** The authorizer's error; absent: none. */
  readonly error?: string;
}

export type DecideAccess = (check: AccessCheck) => AccessDecision;

class AuthorizerValue extends OpaqueValue {
  readonly decide: DecideAccess;
  readonly subject: AccessSubject;

  constructor(decide: DecideAccess, subject: AccessSubject) {
    super(types.authorizer.name);
    this.decide = decide;
    this.subject = subject;
  }
}

class PathCheckValue extends OpaqueValue {
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super(types.pathCheck.name);
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheckValue extends OpaqueValue {
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super(types.groupCheck.name);
    this.authorizer = authorizer;
    this.group = group;
  }
}

class ResourceCheckValue extends OpaqueValue {
  readonly authorizer: AuthorizerValue;
  readonly resource: ResourceAccess;

  constructor(authorizer: AuthorizerValue, resource: ResourceAccess) {
    super(types.resourceCheck.name);
    this.authorizer = authorizer;
    this.resource = resource;
  }
}

class DecisionValue extends OpaqueValue {
  readonly decision: AccessDecision;

  constructor(decision: AccessDecision) {
    super(types.decision.name);
    this.decision = decision;
  }
}

/** The value of the variable `authorizer`. */
export function authorizerValue(decide: DecideAccess): AuthorizerValue {
  return new AuthorizerValue(decide, undefined);
}

/** The value of the variable `authorizer.requestResource`. */
export function requestResourceValue(
  decide: DecideAccess,
  resource: ResourceAccess,
): ResourceCheckValue {
  return new ResourceCheckValue(authorizerValue(decide), resource);
}

type Maker<T> = abstract new (...args: never[]) => T;

function receiver<T>(kind: Maker<T>, value: Value | undefined): T {
  if (value instanceof kind) return value;
  throw noSuchOverload();
}

function withText<T>(
  id: string,
  kind: Maker<T>,
  [own, result]: readonly [LibraryType, LibraryType],
  call: (value: T, text: string) => Value,
): LibraryOverload {
  return member(id, [own, types.string], result, (value, text) =>
    call(receiver(kind, value), textOf(text)),
  );
}

function narrowed(
  id: string,
  change: (resource: ResourceAccess, text: string) => ResourceAccess,
): LibraryOverload {
  const check = types.resourceCheck;
  return withText(id, ResourceCheckValue, [check, check], (value, text) => {
    return new ResourceCheckValue(value.authorizer, change(value.resource, text));
  });
}

function ofDecision(
  id: string,
  result: LibraryType,
  read: (decision: AccessDecision) => Value,
): LibraryOverload {
  return member(id, [types.decision], result, (value) =>
    read(receiver(DecisionValue, value).decision),
  );
}

/** Whether Go's TrimSpace would leave an empty text. */
function isBlank(text: string): boolean {
  return /^[\s\u0085]*$/.test(text);
}

export const authorizerLibrary: Library = {
  name: "kubernetes.authz",
  since: 27,
  functions: [
    declare(
      "path",
      withText("authorizer_path", AuthorizerValue, [types.authorizer, types.pathCheck], pathCheck),
    ),
    declare(
      "group",
      withText(
        "authorizer_group",
        AuthorizerValue,
        [types.authorizer, types.groupCheck],
        (authorizer, group) => new GroupCheckValue(authorizer, group),
      ),
    ),
    declare(
      "serviceAccount",
      member(
        "authorizer_serviceaccount",
        [types.authorizer, types.string, types.string],
        types.authorizer,
        (value, namespace, name) =>
          serviceAccount(receiver(AuthorizerValue, value), textOf(namespace), textOf(name)),
      ),
    ),
    declare(
      "resource",
      withText(
        "groupcheck_resource",
        GroupCheckValue,
        [types.groupCheck, types.resourceCheck],
        resourceCheck,
      ),
    ),
    declare(
      "subresource",
      narrowed("resourcecheck_subresource", (own, subresource) => ({ ...own, subresource })),
    ),
    declare(
      "namespace",
      narrowed("resourcecheck_namespace", (own, namespace) => ({ ...own, namespace })),
    ),
    declare(
      "name",
      narrowed("resourcecheck_name", (own, name) => ({ ...own, name })),
    ),
    declare("check", ...checkOverloads()),
    declare(
      "errored",
      ofDecision("decision_errored", types.bool, (decision) => decision.error !== undefined),
    ),
    declare(
      "error",
      ofDecision("decision_error", types.string, (decision) => decision.error ?? ""),
    ),
    declare(
      "allowed",
      ofDecision("decision_allowed", types.bool, (decision) => decision.allowed),
    ),
    declare(
      "reason",
      ofDecision("decision_reason", types.string, (decision) => decision.reason),
    ),
  ],
};

export const authorizerSelectorsLibrary: Library = {
  name: "kubernetes.authzSelectors",
  since: 31,
  functions: [
    declare("fieldSelector", narrowed("authorizer_fieldselector", withFieldSelector)),
    declare("labelSelector", narrowed("authorizer_labelselector", withLabelSelector)),
  ],
};

function pathCheck(authorizer: AuthorizerValue, path: string): Value {
  if (isBlank(path)) throw new FunctionError("path must not be empty");
  return new PathCheckValue(authorizer, path);
}

function serviceAccount(authorizer: AuthorizerValue, namespace: string, name: string): Value {
  if (dnsSubdomainName(name, false).length > 0) {
    throw new FunctionError("Invalid service account name");
  }
  if (dnsLabelName(namespace, false).length > 0) {
    throw new FunctionError("Invalid service account namespace");
  }
  return new AuthorizerValue(authorizer.decide, { namespace, serviceAccount: name });
}

function resourceCheck(value: GroupCheckValue, resource: string): Value {
  if (isBlank(resource)) throw new FunctionError("resource must not be empty");
  return new ResourceCheckValue(value.authorizer, {
    group: value.group,
    resource,
    subresource: "",
    namespace: "",
    name: "",
  });
}

/** A selector that is empty or does not parse does not change the check. */
function withFieldSelector(own: ResourceAccess, text: string): ResourceAccess {
  const { fieldSelector: _, ...rest } = own;
  const fieldSelector = text === "" ? undefined : parseOrNothing(() => parseFieldSelector(text));
  return fieldSelector === undefined ? rest : { ...rest, fieldSelector };
}

function withLabelSelector(own: ResourceAccess, text: string): ResourceAccess {
  const { labelSelector: _, ...rest } = own;
  const labelSelector = text === "" ? undefined : parseOrNothing(() => parseLabelSelector(text));
  return labelSelector === undefined ? rest : { ...rest, labelSelector };
}

function parseOrNothing<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

function checkOverloads(): LibraryOverload[] {
  const { decision } = types;
  return [
    withText("pathcheck_check", PathCheckValue, [types.pathCheck, decision], (value, verb) => {
      const { decide, subject } = value.authorizer;
      return new DecisionValue(decide({ kind: "path", subject, verb, path: value.path }));
    }),
    withText(
      "resourcecheck_check",
      ResourceCheckValue,
      [types.resourceCheck, decision],
      (value, verb) => {
        const { decide, subject } = value.authorizer;
        return new DecisionValue(
          decide({ kind: "resource", subject, verb, resource: value.resource }),
        );
      },
    ),
  ];
}
