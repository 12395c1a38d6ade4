/**
 * A route under construction: hosts and path expressions apart, because later steps look at them or replace them.
 * Drafts are values: a step makes another one.
 */
import { type AnnotationRule, type SkipperOptions } from "./options.ts";
import { type Backend, type Call, call, type Route, shunt } from "./route.ts";

export interface Draft extends Route {
  readonly hosts: readonly string[];
  readonly pathPatterns: readonly string[];
  /** Whether the route comes from the annotation `skipper-routes`. */
  readonly isExtra?: boolean;
}

export function draft(id: string, hosts: readonly string[], backend: Backend): Draft {
  return { id, hosts, pathPatterns: [], predicates: [], filters: [], backend };
}

export function finished({ id, hosts, pathPatterns, predicates, filters, backend }: Draft): Route {
  const conditions = [
    ...hosts.map((host) => call("Host", host)),
    ...pathPatterns.map((pattern) => call("PathRegexp", pattern)),
    ...predicates,
  ];
  return { id, predicates: conditions, filters, backend };
}

export function withPredicates(route: Draft, predicates: readonly Call[]): Draft {
  return predicates.length === 0
    ? route
    : { ...route, predicates: [...route.predicates, ...predicates] };
}

/** Returns the route with a 502 answer, as a gateway gives when no endpoint exists. */
export function withoutEndpoints(route: Draft): Draft {
  const filters = [call("status", 502), call("inlineContent", "no endpoints")];
  return { ...route, filters, backend: shunt };
}

interface AnnotationRules {
  readonly predicates: readonly AnnotationRule[];
  readonly filters: readonly AnnotationRule[];
}

export function outerRules(options: SkipperOptions): AnnotationRules {
  return { predicates: options.annotationPredicates, filters: options.annotationFilters };
}

export function innerRules(options: SkipperOptions): AnnotationRules {
  return {
    predicates: options.eastWestRangeAnnotationPredicates,
    filters: options.eastWestRangeAnnotationFilters,
  };
}

/** Adds the predicates and filters that the operator configures for objects with certain annotations. */
export function withAnnotated(
  route: Draft,
  rules: AnnotationRules,
  annotations: ReadonlyMap<string, string>,
): Draft {
  const added = (list: readonly AnnotationRule[]): readonly Call[] =>
    list.flatMap(({ key, value, calls }) => (annotations.get(key) === value ? calls : []));
  const more = withPredicates(route, added(rules.predicates));
  const filters = added(rules.filters);
  return filters.length === 0 ? more : { ...more, filters: [...more.filters, ...filters] };
}

export function withApplication(
  route: Draft,
  label: string,
  labels: ReadonlyMap<string, string>,
): Draft {
  const application = label === "" ? "" : (labels.get(label) ?? "");
  if (application === "") return route;
  return { ...route, filters: [call("annotate", "Application", application), ...route.filters] };
}

/** Makes a word of a route's id: each character other than letters, digits and `_` becomes `_`. */
export function word(text: string): string {
  return text.replace(/[^A-Za-z0-9_]/gu, "_");
}

/** Makes such a word with one `_` per UTF-8 byte, where Skipper replaces bytes instead of characters. */
export function byteWord(text: string): string {
  return text.replace(/[^A-Za-z0-9_]/gu, (char) =>
    "_".repeat(new TextEncoder().encode(char).length),
  );
}

export function eastWestId(id: string): string {
  return `kubeew${id.slice("kube".length)}`;
}

/** Returns the redirect to HTTPS that precedes a route, for requests that a load balancer received over plain HTTP. */
export function redirected(route: Draft, code: number): Draft {
  return {
    ...plainHttp(route, `${route.id}_https_redirect`),
    filters: [call("redirectTo", code, "https:")],
    backend: shunt,
  };
}

export function notRedirected(route: Draft): Draft {
  return plainHttp(route, `${route.id}_disable_https_redirect`);
}

function plainHttp(route: Draft, id: string): Draft {
  const predicates = [call("Weight", 1000), ...route.predicates, forwardedHttp];
  return { ...route, id, predicates };
}

export const forwardedHttp = call("Header", "X-Forwarded-Proto", "http");
