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
  /** Class expression; it may match any part of the class. Objects without a class are accepted too. */
  readonly ingressClass: RegExp;
  readonly routeGroupClass: RegExp;
  readonly pathMode: PathMode;
  readonly httpsRedirect: boolean;
  readonly httpsRedirectCode: number;
  /** Whether a host without a route for every path answers 404 for the remaining paths. */
  readonly catchAll: boolean;
  /** Whether `name.namespace.eastWestDomain` is an additional host of each object's routes. Deprecated by Skipper. */
  readonly eastWest: boolean;
  /** Domain whose hosts are not redirected; "": none. */
  readonly eastWestDomain: string;
  readonly eastWestRangeDomains: readonly string[];
  readonly eastWestRangePredicates: readonly Call[];
  readonly annotationPredicates: readonly AnnotationRule[];
  readonly annotationFilters: readonly AnnotationRule[];
  readonly eastWestRangeAnnotationPredicates: readonly AnnotationRule[];
  readonly eastWestRangeAnnotationFilters: readonly AnnotationRule[];
  /** Whether Services of type ExternalName may be backends of an Ingress. */
  readonly externalNames: boolean;
  readonly externalNamePreserveHost: boolean;
  /** Allowed external names; undefined: all. */
  readonly allowedExternalNames: readonly RegExp[] | undefined;
  /** Whether routes use the Service's name as backend instead of its endpoints. */
  readonly forceService: boolean;
  readonly trafficAlgorithm: (typeof trafficAlgorithms)[number];
  readonly lbAlgorithm: string;
  /** URL of the forward backend; "": none. */
  readonly forwardBackendUrl: string;
  readonly backendNameTracingTag: boolean;
  /** Label whose value is annotated in each route; "": none. */
  readonly applicationLabel: string;
  /** By `namespace/service`: filters that precede all others. */
  readonly defaultFilters: ReadonlyMap<string, readonly Call[]>;
  /** Whether endpoints come from the deprecated Endpoints resource instead of EndpointSlices. */
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

/** Returns the algorithm, or for an unknown one the default, as Skipper does. */
export function algorithmOr(name: string): string {
  return isAlgorithm(name) ? name : standardOptions.lbAlgorithm;
}
