/**
 * The routes of one RouteGroup (zalando.org/v1), as Skipper makes them.
 *
 * Holds  a RouteGroup that breaks a rule (`route-group-rules.ts`) has no routes; a route of it that cannot be made is
 *        left out alone.
 */
import {
  byteWord,
  type Draft,
  draft,
  eastWestId,
  finished,
  forwardedHttp,
  innerRules,
  outerRules,
  withAnnotated,
  withApplication,
  withoutEndpoints,
  withPredicates,
} from "./draft.ts";
import { EskipError } from "./eskip-lexer.ts";
import { parseFilters, parsePredicates } from "./eskip-parser.ts";
import {
  type Fields,
  type Meta,
  metaOf,
  numberAt,
  recordAt,
  recordsAt,
  textAt,
  textsAt,
} from "./fields.ts";
import { hostPattern, isAllowedAddress, isInRange } from "./hosts.ts";
import { type Cluster, schemeOf, zoneFilters } from "./ingress.ts";
import { algorithmOr, type SkipperOptions } from "./options.ts";
import { redirectOf } from "./redirect.ts";
import { type Backend, type Call, call, type Endpoint, type Route, shunt } from "./route.ts";
import { routeGroupProblem } from "./route-group-rules.ts";
import { type PortRef, targetsOfTarget } from "./service-targets.ts";
import { sharesOf } from "./traffic.ts";

const classAnnotation = "zalando.org/routegroup.class";

/** Converts a RouteGroup. Undefined: Skipper does not accept it. */
export function routeGroupRoutes(
  object: unknown,
  cluster: Cluster,
  options: SkipperOptions,
): readonly Route[] | undefined {
  const meta = metaOf(object);
  if (routeGroupProblem(object) !== undefined) return undefined;
  const ownClass = meta.annotations.get(classAnnotation) ?? "";
  if (ownClass !== "" && !options.routeGroupClass.test(ownClass)) return [];
  const spec = recordAt(object, "spec");
  const hosts = [...new Set(textsAt(spec, "hosts"))];
  const { eastWestRangeDomains: domains } = options;
  const inner = hosts.filter((host) => isInRange(host, domains));
  const outer = hosts.filter((host) => !isInRange(host, domains));
  const routes: Route[] = [];
  if (outer.length > 0 || hosts.length === 0) {
    const made = new Part(meta, spec, cluster, options, { hosts: outer, isInner: false }).routes();
    if (made === undefined) return [];
    routes.push(...made);
  }
  if (inner.length > 0) {
    routes.push(
      ...(new Part(meta, spec, cluster, options, { hosts: inner, isInner: true }).routes() ?? []),
    );
  }
  return routes;
}

/** A route cannot be made because its backend does not exist or is not allowed. */
class UnmadeError extends Error {}

interface PartHosts {
  readonly hosts: readonly string[];
  /** Whether the hosts are within the cluster. */
  readonly isInner: boolean;
}

/** Converts the routes for the hosts either outside or within the cluster. */
class Part {
  readonly #meta: Meta;
  readonly #spec: Fields;
  readonly #cluster: Cluster;
  readonly #options: SkipperOptions;
  readonly #hosts: readonly string[];
  readonly #isInner: boolean;
  readonly #backends: ReadonlyMap<string, Fields>;
  /** Whether the hosts have a route for every request. */
  #hasCatchAll = false;
  #hasHostRoute = false;

  constructor(
    meta: Meta,
    spec: Fields,
    cluster: Cluster,
    options: SkipperOptions,
    { hosts, isInner }: PartHosts,
  ) {
    this.#meta = meta;
    this.#spec = spec;
    this.#cluster = cluster;
    this.#options = options;
    this.#hosts = hosts;
    this.#isInner = isInner;
    this.#backends = new Map(recordsAt(spec, "backends").map((one) => [textAt(one, "name"), one]));
  }

  /** Returns the routes. Undefined: those of the default backends cannot be made. */
  routes(): readonly Route[] | undefined {
    const routes = this.#made(() => this.#own());
    if (routes === undefined) return undefined;
    const options = this.#options;
    const rules = this.#isInner ? innerRules(options) : outerRules(options);
    const added = this.#isInner ? options.eastWestRangePredicates : [];
    return [...routes, ...this.#rest()].map((route) =>
      finished(withAnnotated(withPredicates(route, added), rules, this.#meta.annotations)),
    );
  }

  #made<T>(make: () => T): T | undefined {
    try {
      return make();
    } catch (error) {
      if (error instanceof UnmadeError || error instanceof EskipError) return undefined;
      throw error;
    }
  }

  #own(): readonly Draft[] {
    const explicit = recordsAt(this.#spec, "routes");
    if (explicit.length === 0) return this.#implicit();
    return explicit.flatMap((route, at) => this.#made(() => this.#explicit(route, at)) ?? []);
  }

  #implicit(): readonly Draft[] {
    const references = recordsAt(this.#spec, "defaultBackends");
    return references.flatMap((reference, at) => {
      const backend = this.#named(reference);
      let route = this.#withBackend(draft(this.#id("all", 0, at), [], shunt), backend);
      route = withPredicates(route, this.#hostPredicate());
      route = withPredicates(route, this.#shares(references, reference));
      return this.#twins(this.#withStandard(route, backend));
    });
  }

  #explicit(route: Fields, at: number): readonly Draft[] {
    const own = recordsAt(route, "backends");
    const references = own.length > 0 ? own : recordsAt(this.#spec, "defaultBackends");
    const methods = [...new Set(textsAt(route, "methods"))];
    return (methods.length === 0 ? [""] : methods).flatMap((method) =>
      references.flatMap((reference, backendAt) => {
        const id = this.#id(method.toLowerCase() || "all", at, backendAt);
        const made = this.#transformed(route, id, method.toUpperCase(), this.#named(reference));
        return this.#twins(withPredicates(made, this.#shares(references, reference)));
      }),
    );
  }

  #transformed(route: Fields, id: string, method: string, backend: Fields): Draft {
    const predicates = [
      ...pathPredicates(route),
      ...this.#hostPredicate(),
      ...(method === "" ? [] : [call("Method", method)]),
      ...textsAt(route, "predicates").flatMap(parsePredicates),
    ];
    const filters = textsAt(route, "filters").flatMap(parseFilters);
    const made = { ...draft(id, [], shunt), predicates, filters };
    return this.#withStandard(this.#withBackend(made, backend), backend);
  }

  /** Returns the route with its additional ones: for the east-west host and for the redirect to HTTPS. */
  #twins(bare: Draft): readonly Draft[] {
    const { applicationLabel, eastWest, eastWestDomain, httpsRedirectCode } = this.#options;
    const route = withApplication(bare, applicationLabel, this.#meta.labels);
    if (this.#hosts.length > 0) this.#hasHostRoute = true;
    if (route.predicates.every(({ name }) => name === "Host")) this.#hasCatchAll = true;
    const routes = [route];
    const hasOwnDomain = this.#hosts.some((host) => host.endsWith(eastWestDomain));
    if (eastWest && !this.#isInner && !hasOwnDomain) routes.push(this.#eastWest(route));
    const { code } = redirectOf(this.#meta.annotations, this.#options);
    if (code !== undefined && !this.#isInner && !looksAtProtocol(route)) {
      routes.push(redirectedGroup(route, httpsRedirectCode));
    }
    return routes;
  }

  #eastWest(route: Draft): Draft {
    const { namespace, name } = this.#meta;
    const host = hostPattern([`${name}.${namespace}.${this.#options.eastWestDomain}`]);
    const others = route.predicates.filter((one) => one.name !== "Host");
    return { ...route, id: eastWestId(route.id), predicates: [...others, call("Host", host)] };
  }

  /** Returns the 404 routes for requests that match no other route of their host. */
  #rest(): readonly Draft[] {
    if (!this.#options.catchAll || !this.#hasHostRoute || this.#hasCatchAll) return [];
    return this.#hosts.map((host) => {
      const id = groupId("", byteWord(host), "catchall", 0, 0, this.#isInner);
      return withPredicates(draft(id, [], shunt), [call("Host", hostPattern([host]))]);
    });
  }

  #hostPredicate(): readonly Call[] {
    return this.#hosts.length === 0 ? [] : [call("Host", hostPattern(this.#hosts))];
  }

  #named(reference: Fields): Fields {
    return this.#backends.get(textAt(reference, "backendName")) ?? {};
  }

  #shares(references: readonly Fields[], reference: Fields): readonly Call[] {
    const backends = references.map((one) => ({
      name: textAt(one, "backendName"),
      weight: numberAt(one, "weight"),
    }));
    const shares = sharesOf(this.#options.trafficAlgorithm, backends);
    return shares.get(textAt(reference, "backendName"))?.predicates ?? [];
  }

  #withStandard(route: Draft, backend: Fields): Draft {
    if (!isService(backend)) return route;
    const key = `${this.#meta.namespace}/${textAt(backend, "serviceName")}`;
    const filters = this.#options.defaultFilters.get(key) ?? [];
    return filters.length === 0 ? route : { ...route, filters: [...filters, ...route.filters] };
  }

  #withBackend(route: Draft, backend: Fields): Draft {
    const made = isService(backend)
      ? this.#withService(route, backend)
      : this.#withOther(route, backend);
    if (!this.#options.backendNameTracingTag) return made;
    const tag = call("tracingTag", "skipper.backend_name", textAt(backend, "name"));
    return { ...made, filters: [...made.filters, tag] };
  }

  #withOther(route: Draft, backend: Fields): Draft {
    const { allowedExternalNames, forwardBackendUrl } = this.#options;
    const addresses = [...textsAt(backend, "endpoints"), textAt(backend, "address")];
    const type = textAt(backend, "type");
    const asked =
      type === "lb" ? addresses.slice(0, -1) : type === "network" ? addresses.slice(-1) : [];
    if (!asked.every((one) => isAllowedAddress(allowedExternalNames, one))) throw new UnmadeError();
    switch (type) {
      case "network":
        return { ...route, backend: { kind: "network", address: textAt(backend, "address") } };
      case "lb":
        return { ...route, backend: this.#lb(backend, asked.map(withoutZone)) };
      case "forward":
        return { ...route, filters: [], backend: { kind: "network", address: forwardBackendUrl } };
      default:
        return { ...route, backend: { kind: type as "shunt" | "loopback" | "dynamic" } };
    }
  }

  #lb(backend: Fields, endpoints: readonly Endpoint[]): Backend {
    const algorithm = textAt(backend, "algorithm") || algorithmOr(this.#options.lbAlgorithm);
    return { kind: "lb", algorithm, endpoints };
  }

  #withService(bare: Draft, backend: Fields): Draft {
    const { namespace, annotations } = this.#meta;
    const route = { ...bare, filters: [...zoneFilters(annotations), ...bare.filters] };
    const service = this.#cluster.service(namespace, textAt(backend, "serviceName"));
    if (service?.type.toLowerCase() !== "clusterip") throw new UnmadeError();
    const number = numberAt(backend, "servicePort");
    const port = service.ports.find((one) => one.port === number);
    if (port === undefined) throw new UnmadeError();
    const target: PortRef = port.targetPort ?? port.port;
    const endpoints = this.#cluster.endpoints(namespace, service.name);
    const targets = targetsOfTarget(endpoints, target, schemeOf(annotations));
    const [only] = targets;
    if (only === undefined) return withoutEndpoints(route);
    if (targets.length > 1) return { ...route, backend: this.#lb(backend, targets) };
    return { ...route, backend: { kind: "network", address: only.address } };
  }

  #id(method: string, at: number, backendAt: number): string {
    const { namespace, name } = this.#meta;
    const words = [namespace, name, method].map(byteWord) as [string, string, string];
    return groupId(...words, at, backendAt, this.#isInner);
  }
}

function isService(backend: Fields): boolean {
  const type = textAt(backend, "type");
  return type === "" || type === "service";
}

function withoutZone(address: string): Endpoint {
  return { address, zone: "" };
}

function pathPredicates(route: Fields): readonly Call[] {
  const text = (name: string): string => textAt(route, name);
  const predicates: Call[] = [];
  if (text("path") !== "") predicates.push(call("Path", text("path")));
  else if (text("pathSubtree") !== "") predicates.push(call("PathSubtree", text("pathSubtree")));
  if (text("pathRegexp") !== "") predicates.push(call("PathRegexp", text("pathRegexp")));
  return predicates;
}

function looksAtProtocol({ predicates }: Draft): boolean {
  return predicates.some(
    ({ name, args }) =>
      (name === "Header" || name === "HeaderRegexp") && args[0] === "X-Forwarded-Proto",
  );
}

function redirectedGroup(route: Draft, code: number): Draft {
  return {
    ...route,
    id: `${route.id}_https_redirect`,
    predicates: [...route.predicates, forwardedHttp],
    filters: [call("redirectTo", code, "https:")],
    backend: shunt,
  };
}

function groupId(
  namespace: string,
  name: string,
  part: string,
  at: number,
  backendAt: number,
  isInner: boolean,
): string {
  const inner = isInner ? "internal_" : "";
  return `kube_rg__${inner}${namespace}__${name}__${part}__${at}_${backendAt}`;
}
