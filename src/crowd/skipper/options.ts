/**
 * How routes are made of objects: what Skipper's flags of its Kubernetes data client say, named as its flags are
 * without `kubernetes-`.
 */
import { algorithms, type Call } from "./route.ts";

/** Calls added to the routes of objects whose annotation `key` is `value`. */
export interface AnnotationRule {
  readonly key: string;
  readonly value: string;
  readonly calls: readonly Call[];
}

export const pathModes = ["kubernetes-ingress", "path-regexp", "path-prefix"] as const;
export type PathMode = (typeof pathModes)[number];

export const trafficAlgorithms = ["traffic-predicate", "traffic-segment-predicate"] as const;

export interface SkipperOptions {
  /** Matched anywhere in the class; objects without class are taken as well. */
  readonly ingressClass: RegExp;
  readonly routeGroupClass: RegExp;
  readonly pathMode: PathMode;
  readonly httpsRedirect: boolean;
  readonly httpsRedirectCode: number;
  /** A host without a route for every path answers 404 for the rest. */
  readonly catchAll: boolean;
  /** `name.namespace.eastWestDomain` leads to each object's routes. Deprecated by Skipper. */
  readonly eastWest: boolean;
  /** Hosts below it are not redirected; "": none. */
  readonly eastWestDomain: string;
  readonly eastWestRangeDomains: readonly string[];
  readonly eastWestRangePredicates: readonly Call[];
  readonly annotationPredicates: readonly AnnotationRule[];
  readonly annotationFilters: readonly AnnotationRule[];
  readonly eastWestRangeAnnotationPredicates: readonly AnnotationRule[];
  readonly eastWestRangeAnnotationFilters: readonly AnnotationRule[];
  /** Services of type ExternalName may be backends of an Ingress. */
  readonly externalNames: boolean;
  readonly externalNamePreserveHost: boolean;
  /** Undefined: all. */
  readonly allowedExternalNames: readonly RegExp[] | undefined;
  /** Routes lead to the Service's name instead of its endpoints. */
  readonly forceService: boolean;
  readonly trafficAlgorithm: (typeof trafficAlgorithms)[number];
  readonly lbAlgorithm: string;
  /** "": there is none. */
  readonly forwardBackendUrl: string;
  readonly backendNameTracingTag: boolean;
  /** A label whose value is noted in each route; "": none. */
  readonly applicationLabel: string;
  /** Filters put first, by `namespace/service`. */
  readonly defaultFilters: ReadonlyMap<string, readonly Call[]>;
  /** Endpoints of the deprecated Endpoints resource instead of EndpointSlices. */
  readonly legacyEndpoints: boolean;
}

export const standardOptions: SkipperOptions = {
  ingressClass: /skipper/,
  routeGroupClass: /skipper/,
  pathMode: "kubernetes-ingress",
  httpsRedirect: false,
  httpsRedirectCode: 308,
  catchAll: true,
  eastWest: false,
  eastWestDomain: "",
  eastWestRangeDomains: [],
  eastWestRangePredicates: [],
  annotationPredicates: [],
  annotationFilters: [],
  eastWestRangeAnnotationPredicates: [],
  eastWestRangeAnnotationFilters: [],
  externalNames: false,
  externalNamePreserveHost: false,
  allowedExternalNames: undefined,
  forceService: false,
  trafficAlgorithm: "traffic-predicate",
  lbAlgorithm: "roundRobin",
  forwardBackendUrl: "",
  backendNameTracingTag: false,
  applicationLabel: "",
  defaultFilters: new Map(),
  legacyEndpoints: false,
};

export function isAlgorithm(name: string): boolean {
  return algorithms.has(name);
}

/** Skipper falls back to its own. */
export function algorithmOr(name: string): string {
  return isAlgorithm(name) ? name : standardOptions.lbAlgorithm;
}
