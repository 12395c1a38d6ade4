/**
 * Finds the parameter objects of a binding: by name or by selector, of any served kind.
 *
 * Waits  for a webhook that converts the objects to the version of the paramKind.
 * Holds  a policy without paramKind, or a binding without paramRef, is evaluated once, with null.
 * Texts as upstream's `CollectParams`.
 */
import type { AnyObject } from "#api/object.ts";
import { isFields, maybe, text } from "#api/validation/fields.ts";
import {
  labelsMatch,
  type LabelSelectorSpec,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";

/** A served kind from which parameters are read. */
export interface ParamSource {
  readonly namespaced: boolean;
  get(namespace: string, name: string): Waited<AnyObject | undefined>;
  /** Lists the objects of a namespace. "": of all namespaces. */
  list(namespace: string): Waited<readonly AnyObject[]>;
}

type Waited<T> = T | Promise<T>;

/** Finds the source of `paramKind`. Undefined: this kind is not served. */
export type FindParams = (apiVersion: string, kind: string) => ParamSource | undefined;

type Params =
  | { readonly kind: "found"; readonly params: readonly (AnyObject | null)[] }
  | { readonly kind: "error"; readonly message: string };

const withoutParams: Params = { kind: "found", params: [null] };

export function collectParams(
  policy: AnyObject,
  binding: AnyObject,
  namespace: string,
  findParams: FindParams,
): Waited<Params> {
  const paramKind = maybe(specOf(policy), "paramKind");
  const paramRef = maybe(specOf(binding), "paramRef");
  if (paramKind === undefined || paramRef === undefined) return withoutParams;
  const apiVersion = text(paramKind, "apiVersion");
  const kind = text(paramKind, "kind");
  const source = findParams(apiVersion, kind);
  if (source === undefined) {
    // ParamKind as Go prints the generated message.
    return failed(
      `paramKind kind \`&ParamKind{APIVersion:${apiVersion},Kind:${kind},}\` not known`,
    );
  }
  return select(source, paramRef, namespace);
}

type Fields = Parameters<typeof text>[0];

function select(source: ParamSource, paramRef: Fields, requested: string): Waited<Params> {
  const given = text(paramRef, "namespace");
  if (given !== "" && !source.namespaced) {
    return failed("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  const namespace = given === "" && source.namespaced ? requested : given;
  if (source.namespaced && namespace === "") {
    return failed(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    );
  }
  const params = named(source, paramRef, namespace);
  if (params === undefined) return failed("one of name or selector must be provided");
  if (!(params instanceof Promise)) return foundOf(params, paramRef);
  return params.then(
    (all) => foundOf(all, paramRef),
    (error: Error) => failed(error.message),
  );
}

function foundOf(params: readonly AnyObject[], paramRef: Fields): Params {
  if (params.length === 0 && text(paramRef, "parameterNotFoundAction") === "Deny") {
    return failed("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return { kind: "found", params };
}

function named(
  source: ParamSource,
  paramRef: Fields,
  namespace: string,
): Waited<readonly AnyObject[]> | undefined {
  const name = text(paramRef, "name");
  if (name !== "") return whenKnown(source.get(namespace, name), asList);
  const spec = maybe(paramRef, "selector");
  if (spec === undefined) return undefined;
  const selector = selectorFromLabelSelector(spec as LabelSelectorSpec); // validated on its write
  return whenKnown(source.list(namespace), (all) =>
    all.filter(({ metadata }) => labelsMatch(selector, metadata?.labels)),
  );
}

function asList(found: AnyObject | undefined): readonly AnyObject[] {
  return found === undefined ? [] : [found];
}

function whenKnown<T, R>(value: Waited<T>, use: (value: T) => R): Waited<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

function specOf(object: AnyObject): Fields {
  const { spec } = object;
  return isFields(spec) ? spec : {};
}

function failed(message: string): Params {
  return { kind: "error", message };
}
