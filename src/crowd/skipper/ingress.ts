/**
 * The routes of one Ingress (networking.k8s.io/v1), as Skipper makes them.
 *
 * Out    routes by host, because a host's catch-all depends on all Ingresses that name it (`host-rest.ts`), and the
 *        default backend's route, which has no host.
 * Holds  an Ingress with an annotation that does not parse has no routes; nothing of one Ingress keeps another from
 *        its routes.
 */
import { isRecord } from "#base/is-record.ts";
import {
  type Draft,
  draft,
  eastWestId,
  finished,
  innerRules,
  notRedirected,
  outerRules,
  redirected,
  withAnnotated,
  withApplication,
  withoutEndpoints,
  withPredicates,
  word,
} from "./draft.ts";
import { EskipError } from "./eskip-lexer.ts";
import { parseFilters, parsePredicates, parseRoutes } from "./eskip-parser.ts";
import { type Fields, type Meta, metaOf, recordAt, recordsAt, textAt } from "./fields.ts";
import { hostPattern, isAllowedName, isInRange } from "./hosts.ts";
import {
  algorithmOr,
  isAlgorithm,
  type PathMode,
  pathModes,
  type SkipperOptions,
} from "./options.ts";
import { type Redirect, redirectOf } from "./redirect.ts";
import { type Backend, type Call, call, type Endpoint, type Route } from "./route.ts";
import { type Endpoints, type Scheme, type Service, targetsOfPort } from "./service-targets.ts";
import { sharesOf, wholeShare, type Weighted } from "./traffic.ts";

/** Services and endpoints by namespace and name, which are the backends of routes. */
export interface Cluster {
  service(namespace: string, name: string): Service | undefined;
  endpoints(namespace: string, name: string): Endpoints;
}

/** An Ingress's contribution to the routes for the remaining paths of a host. */
export interface HostSummary {
  readonly pattern: string;
  /** Whether the Ingress has a route for every path of the host. */
  readonly hasCatchAll: boolean;
  readonly redirectCode: number | undefined;
  readonly isRedirectDisabled: boolean;
}

interface IngressRoutes {
  readonly routes: readonly Route[];
  readonly hosts: ReadonlyMap<string, HostSummary>;
}

const noRoutes: IngressRoutes = { routes: [], hosts: new Map() };

/** Converts an Ingress. Undefined: Skipper does not accept it. */
export function ingressRoutes(
  object: unknown,
  cluster: Cluster,
  options: SkipperOptions,
): IngressRoutes | undefined {
  const meta = metaOf(object);
  const spec = recordAt(object, "spec");
  if (!isOurs(meta, spec, options)) return noRoutes;
  const read = annotationsOf(meta, options);
  return read === undefined
    ? undefined
    : new Conversion(meta, spec, read, cluster, options).routes();
}

const classAnnotation = "kubernetes.io/ingress.class";

function isOurs({ annotations }: Meta, spec: Fields, { ingressClass }: SkipperOptions): boolean {
  const classes = [annotations.get(classAnnotation) ?? "", textAt(spec, "ingressClassName")];
  return classes.every((one) => one === "" || ingressClass.test(one));
}

interface Annotations {
  readonly filters: readonly Call[];
  readonly predicates: readonly Call[];
  readonly extra: readonly Draft[];
  readonly weights: ReadonlyMap<string, number>;
  readonly pathMode: PathMode;
  readonly scheme: Scheme;
  readonly algorithm: string;
  readonly isForwarded: boolean;
  readonly redirect: Redirect;
}

function annotationsOf({ annotations }: Meta, options: SkipperOptions): Annotations | undefined {
  const text = (name: string): string => annotations.get(`zalando.org/${name}`) ?? "";
  const algorithm = text("skipper-loadbalancer");
  if (algorithm !== "" && !isAlgorithm(algorithm)) return undefined;
  try {
    return {
      filters: filtersOf(text("ratelimit"), text("skipper-filter")),
      predicates: parsePredicates(text("skipper-predicate")),
      extra: parseRoutes(text("skipper-routes")).map(extraDraft),
      weights: weightsOf(text("backend-weights")),
      pathMode:
        pathModes.find((mode) => mode === text("skipper-ingress-path-mode")) ?? options.pathMode,
      scheme: schemeOf(annotations),
      algorithm: algorithm || algorithmOr(options.lbAlgorithm),
      isForwarded: text("skipper-backend") === "forward" && options.forwardBackendUrl !== "",
      redirect: redirectOf(annotations, options),
    };
  } catch (error) {
    if (error instanceof EskipError) return undefined;
    throw error;
  }
}

/** Parses the filters. An invalid rate limit discards the other filters too; without a rate limit, invalid filters throw. */
function filtersOf(limit: string, filters: string): readonly Call[] {
  const own = parseFilters(filters);
  if (limit === "") return own;
  try {
    return parseFilters(filters === "" ? limit : `${limit} -> ${filters}`);
  } catch (error) {
    if (error instanceof EskipError) return [];
    throw error;
  }
}

/** Converts a route of the annotation; its hosts and path expressions are kept apart, because those of the rule replace them. */
function extraDraft(route: Route): Draft {
  const has = (name: string): readonly string[] =>
    route.predicates.flatMap((one) => (one.name === name ? [String(one.args[0])] : []));
  const predicates = route.predicates.filter(
    ({ name }) => name !== "Host" && name !== "PathRegexp",
  );
  const pathPatterns = has("PathRegexp");
  return { ...route, predicates, hosts: has("Host"), pathPatterns, isExtra: true };
}

function weightsOf(text: string): ReadonlyMap<string, number> {
  if (text === "") return new Map();
  try {
    const value: unknown = JSON.parse(text);
    const entries = isRecord(value) ? Object.entries(value) : [];
    return new Map(entries.filter((one): one is [string, number] => typeof one[1] === "number"));
  } catch {
    return new Map();
  }
}

export function schemeOf(annotations: ReadonlyMap<string, string>): Scheme {
  const name = annotations.get("zalando.org/skipper-backend-protocol");
  return { name: name ?? "http", isSet: name !== undefined };
}

class Conversion {
  readonly #meta: Meta;
  readonly #spec: Fields;
  readonly #read: Annotations;
  readonly #cluster: Cluster;
  readonly #options: SkipperOptions;
  readonly #byHost = new Map<string, Draft[]>();
  readonly #redirects = new Map<string, { code: number | undefined; isDisabled: boolean }>();

  constructor(
    meta: Meta,
    spec: Fields,
    read: Annotations,
    cluster: Cluster,
    options: SkipperOptions,
  ) {
    this.#meta = meta;
    this.#spec = spec;
    this.#read = read;
    this.#cluster = cluster;
    this.#options = options;
  }

  routes(): IngressRoutes {
    const plain = this.#defaultRoutes();
    for (const rule of recordsAt(this.#spec, "rules")) this.#addRule(rule);
    const { eastWestRangeDomains: domains, eastWestRangePredicates } = this.#options;
    const hosts = new Map<string, HostSummary>();
    for (const [host, routes] of this.#byHost) {
      const times = domains.filter((domain) => host.endsWith(domain));
      const added = times.flatMap(() => eastWestRangePredicates);
      hosts.set(host, this.#summary(host, routes));
      plain.push(...routes.map((route) => withPredicates(route, added)));
    }
    return { routes: plain.map(finished), hosts };
  }

  #summary(host: string, routes: readonly Draft[]): HostSummary {
    const { code, isDisabled = false } = this.#redirects.get(host) ?? {};
    const hasCatchAll = routes.some(
      ({ pathPatterns }) => pathPatterns.length === 0 || pathPatterns.includes("^/"),
    );
    const pattern = routes[0]?.hosts[0] ?? "";
    return { pattern, hasCatchAll, redirectCode: code, isRedirectDisabled: isDisabled };
  }

  /** Makes the route of the default backend. It has no host, so of several Ingresses only one takes effect. */
  #defaultRoutes(): Draft[] {
    const { namespace, name, labels } = this.#meta;
    const backend = recordAt(this.#spec, "defaultBackend");
    if (this.#spec["defaultBackend"] === undefined) return [];
    const found = this.#backend(backend, {
      host: "default",
      id: `${routeId(namespace, name, "", "", "")}`,
    });
    if (found === undefined) return [];
    const { applicationLabel } = this.#options;
    const route = withApplication(this.#forwarded(found), applicationLabel, labels);
    const twin = this.#eastWest(route);
    return twin === undefined ? [route] : [route, twin];
  }

  #addRule(rule: Fields): void {
    if (!isRecord(rule["http"])) return;
    const host = textAt(rule, "host");
    const paths = recordsAt(rule["http"], "paths");
    const shares = this.#shares(paths);
    for (const path of paths) {
      this.#addExtra(host, path);
      const share = shares.get(path) ?? wholeShare;
      if (share.isAllowed) this.#addPath(host, path, share.predicates);
    }
  }

  /** Distributes the traffic of each path among its backends. */
  #shares(paths: readonly Fields[]): ReadonlyMap<Fields, typeof wholeShare> {
    const byPath = Map.groupBy(paths, (path) => textAt(path, "path"));
    const shares = new Map<Fields, typeof wholeShare>();
    for (const same of byPath.values()) {
      const backends = same.map((path): Weighted => {
        const name = serviceName(path);
        return { name, weight: this.#read.weights.get(name) ?? 0 };
      });
      const byName = sharesOf(this.#options.trafficAlgorithm, backends);
      for (const path of same) shares.set(path, byName.get(serviceName(path)) ?? wholeShare);
    }
    return shares;
  }

  /** Adds the routes of the annotation at a path of a rule. */
  #addExtra(host: string, path: Fields): void {
    const { namespace, name, labels, annotations } = this.#meta;
    const { extra, redirect } = this.#read;
    const rules = isInRange(host, this.#options.eastWestRangeDomains)
      ? innerRules(this.#options)
      : outerRules(this.#options);
    for (const [at, one] of extra.entries()) {
      const place = `${host}${textAt(path, "path").replaceAll("/", "_")}`;
      const id = routeId(namespace, `${name}_${one.id}_${at}`, place, "", "");
      let route = this.#atPath({ ...one, id, hosts: [hostPattern([host])] }, path);
      if (
        route.predicates.filter(({ name: n }) => n === "Path" || n === "PathSubtree").length <= 1
      ) {
        route = withAnnotated(route, rules, annotations);
        route = withApplication(route, this.#options.applicationLabel, labels);
        this.#add(host, route);
        this.#note(host, redirect);
      }
      this.#addEastWest(route);
    }
  }

  #addPath(host: string, path: Fields, shares: readonly Call[]): void {
    const { namespace, name, labels } = this.#meta;
    const { filters, predicates, pathMode } = this.#read;
    const service = serviceName(path);
    const id = routeId(namespace, name, host, textAt(path, "path"), service);
    const found = this.#backend(recordAt(path, "backend"), { host, id });
    if (found === undefined) return;
    let route = found;
    const isExternal = this.#isExternal(service);
    if (!isExternal) route = withPredicates(this.#atPath(route, path), shares);
    const own = route.backend.kind === "shunt" ? [] : filters;
    const standard = this.#options.defaultFilters.get(`${namespace}/${service}`) ?? [];
    route = { ...route, filters: [...standard, ...own, ...route.filters] };
    route = withOwnPath(route, pathMode, predicates);
    this.#addWithRedirect(host, withApplication(route, this.#options.applicationLabel, labels));
  }

  #addWithRedirect(host: string, route: Draft): void {
    const { redirect } = this.#read;
    const { eastWestDomain, eastWestRangeDomains } = this.#options;
    const isInner =
      isInRange(host, eastWestRangeDomains) ||
      (eastWestDomain !== "" && host.endsWith(eastWestDomain));
    const rules = isInner ? innerRules(this.#options) : outerRules(this.#options);
    const whole = withAnnotated(route, rules, this.#meta.annotations);
    this.#add(host, whole);
    if (!isInner && !redirect.isIgnored) {
      if (redirect.code !== undefined) this.#add(host, redirected(route, redirect.code));
      if (redirect.isDisabled) this.#add(host, notRedirected(route));
      this.#note(host, redirect);
    }
    this.#addEastWest(whole);
  }

  /** Notes the redirect of a host; that of the last Ingress and rule applies. */
  #note(host: string, { code, isDisabled }: Redirect): void {
    const known = this.#redirects.get(host) ?? { code: undefined, isDisabled: false };
    this.#redirects.set(host, {
      code: code ?? known.code,
      isDisabled: isDisabled || known.isDisabled,
    });
  }

  #eastWest(route: Draft): Draft | undefined {
    const { namespace, name } = this.#meta;
    const { eastWest, eastWestDomain } = this.#options;
    if (!eastWest) return undefined;
    const hosts = [hostPattern([`${name}.${namespace}.${eastWestDomain}`])];
    return { ...route, id: eastWestId(route.id), hosts };
  }

  #addEastWest(route: Draft): void {
    const { namespace, name } = this.#meta;
    const twin = this.#eastWest(route);
    if (twin !== undefined) this.#add(`${name}.${namespace}.${this.#options.eastWestDomain}`, twin);
  }

  #add(host: string, route: Draft): void {
    const routes = this.#byHost.get(host);
    if (routes === undefined) this.#byHost.set(host, [this.#forwarded(route)]);
    else routes.push(this.#forwarded(route));
  }

  /** Sends the route to the forward backend when the annotation says so, except for annotation routes that answer by themselves. */
  #forwarded(route: Draft): Draft {
    if (!this.#read.isForwarded) return route;
    if (route.isExtra === true && route.backend.kind === "shunt") return { ...route, filters: [] };
    const backend: Backend = { kind: "network", address: this.#options.forwardBackendUrl };
    return { ...route, backend, filters: [] };
  }

  #isExternal(service: string): boolean {
    return this.#cluster.service(this.#meta.namespace, service)?.type === "ExternalName";
  }

  /** Makes a route with hosts, filters and backend. Undefined: the Service does not exist, or is not allowed. */
  #backend(backend: Fields, { host, id }: { host: string; id: string }): Draft | undefined {
    const { namespace } = this.#meta;
    const isDefault = host === "default" && this.#spec["defaultBackend"] === backend;
    const hosts = isDefault || host === "" ? [] : [hostPattern([host])];
    const named = recordAt(backend, "service");
    const service = this.#cluster.service(namespace, textAt(named, "name"));
    if (service === undefined) return undefined;
    const port = portOf(service, named);
    if (port === undefined) return withoutEndpoints(draft(id, hosts, { kind: "shunt" }));
    if (service.type === "ExternalName") return this.#external(service, port, host, hosts);
    const targets = this.#options.forceService
      ? [{ address: serviceAddress(service, port.targetPort), zone: "" }]
      : targetsOfPort(this.#cluster.endpoints(namespace, service.name), port, this.#read.scheme);
    return this.#balanced(draft(id, hosts, { kind: "shunt" }), targets);
  }

  #balanced(route: Draft, targets: readonly Endpoint[]): Draft {
    const [only] = targets;
    if (only === undefined) return withoutEndpoints(route);
    if (targets.length === 1) {
      return { ...route, backend: { kind: "network", address: only.address } };
    }
    const { algorithm } = this.#read;
    const filters = zoneFilters(this.#meta.annotations);
    return { ...route, filters, backend: { kind: "lb", algorithm, endpoints: targets } };
  }

  #external(
    { externalName }: Service,
    { targetPort }: TargetedPort,
    host: string,
    hosts: readonly string[],
  ): Draft | undefined {
    const { externalNames, allowedExternalNames, externalNamePreserveHost } = this.#options;
    if (!externalNames || !isAllowedName(allowedExternalNames, externalName)) return undefined;
    const { namespace, name } = this.#meta;
    const scheme = targetPort === 443 ? "https" : "http";
    const address = `${scheme}://${externalName}:${targetPort}`;
    const id = routeId(namespace, name, host, "", externalName);
    const filters = externalNamePreserveHost
      ? []
      : [call("setRequestHeader", "Host", externalName)];
    return { ...draft(id, hosts, { kind: "network", address }), filters };
  }

  #atPath(route: Draft, path: Fields): Draft {
    const text = textAt(path, "path");
    if (text === "") return route;
    switch (textAt(path, "pathType")) {
      case "Exact":
        return withPredicates(route, [call("Path", text)]);
      case "Prefix":
        return withPredicates(route, [call("PathSubtree", text)]);
      default:
        return this.#atOwnPath(route, text);
    }
  }

  /** Adds a path that is neither Exact nor Prefix; the path mode determines how it matches. */
  #atOwnPath(route: Draft, path: string): Draft {
    switch (this.#read.pathMode) {
      case "path-prefix":
        return withPredicates(route, [call("PathSubtree", path)]);
      case "path-regexp":
        return { ...route, pathPatterns: [path] };
      default:
        return { ...route, pathPatterns: [path === "/" ? "^/" : `^(${path})`] };
    }
  }
}

/** Adds the annotation's predicates; a path among them replaces that of the rule. */
function withOwnPath(route: Draft, mode: PathMode, predicates: readonly Call[]): Draft {
  let own = route.predicates;
  const isPath = ({ name }: Call): boolean => name === "Path" || name === "PathSubtree";
  const replaced = mode === "path-prefix" ? predicates.filter(isPath).length : 0;
  for (let left = replaced; left > 0; left--) {
    const at = own.findIndex(isPath);
    if (at >= 0) own = own.toSpliced(at, 1);
  }
  return withPredicates({ ...route, predicates: own }, predicates);
}

/** Returns the mark of routes that keep all endpoints in all zones; the zones of a view and Skipper itself read it. */
export function zoneFilters(annotations: ReadonlyMap<string, string>): readonly Call[] {
  return annotations.get(zoneAware) === "false" ? [call("annotate", zoneAware, "false")] : [];
}

export const zoneAware = "zalando.org/traffic-zone-aware";

type ServicePort = Service["ports"][number];
type TargetedPort = ServicePort & { readonly targetPort: string | number };

function serviceName(path: Fields): string {
  return textAt(recordAt(recordAt(path, "backend"), "service"), "name");
}

function portOf({ ports }: Service, named: Fields): TargetedPort | undefined {
  const port = recordAt(named, "port");
  const { number } = port;
  const text = typeof number === "number" && number !== 0 ? String(number) : textAt(port, "name");
  if (text === "") return undefined;
  return ports.find(
    (one): one is TargetedPort =>
      one.targetPort !== undefined && (String(one.port) === text || one.name === text),
  );
}

function serviceAddress({ namespace, name }: Service, port: string | number): string {
  const scheme = port === 443 ? "https" : "http";
  return `${scheme}://${name}.${namespace}.svc.cluster.local:${port}`;
}

export function routeId(
  namespace: string,
  name: string,
  host: string,
  path: string,
  backend: string,
): string {
  const [ns, ...rest] = [namespace, name, host, path, backend].map(word);
  return `kube_${[ns, ...rest].join("__")}`;
}
