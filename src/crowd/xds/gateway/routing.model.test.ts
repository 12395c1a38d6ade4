/**
 * Where requests go, seeded: the resources, read as Envoy reads them (most specific host, first route that
 * fits), against the words of the Gateway API applied to the objects themselves.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RE2JS } from "re2js";
import { at, resource } from "../testing/envoy-definitions.ts";
import { GatewayWorld, listener } from "../testing/gateway-world.ts";
import { randomOf } from "../testing/replica.ts";
import { routesType } from "../type-urls.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 1_000_000);

interface Request {
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly header: string | undefined;
}

interface Match {
  readonly path: { readonly type: string; readonly value: string };
  readonly method?: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
}

interface PlainRoute {
  readonly name: string;
  readonly created: string;
  readonly hostnames: readonly string[];
  readonly sectionName: string;
  readonly rules: readonly { readonly matches: readonly Match[]; readonly backend: string }[];
}

interface Plain {
  readonly listeners: readonly { readonly name: string; readonly hostname: string }[];
  readonly routes: readonly PlainRoute[];
}

const hosts = ["a.x.io", "b.x.io", "y.a.x.io", "x.io", "other.io"];
const hostnames = ["a.x.io", "*.x.io", "*.a.x.io", "x.io", "b.x.io"];
const paths = ["/", "/a", "/a/", "/a/b", "/ab", "/a/b/c"];
const services = ["s0", "s1", "s2", "s3"];

function plainOf(random: (n: number) => number): Plain {
  const anyOf = <T>(all: readonly T[]): T => all[random(all.length)] as T;
  const some = <T>(all: readonly T[]): T[] => all.filter(() => random(3) === 0);
  const matchOf = (): Match => ({
    path: anyOf([
      { type: "Exact", value: anyOf(paths) },
      { type: "PathPrefix", value: anyOf(paths) },
      { type: "PathPrefix", value: anyOf(paths) },
      { type: "RegularExpression", value: anyOf(["/a.*", "/[ab]+", "/.*/b"]) },
    ]),
    ...(random(3) === 0 ? { method: anyOf(["GET", "POST"]) } : {}),
    ...(random(3) === 0 ? { headers: [{ name: "v", value: anyOf(["1", "2"]) }] } : {}),
  });
  const listenerNames = ["", ...some(hostnames)];
  const listeners = listenerNames.map((hostname, i) => ({ name: `l${i}`, hostname }));
  const routes = Array.from({ length: 1 + random(4) }, (_, i) => ({
    name: `r${i}`,
    created: `202${random(2)}-01-01T00:00:00Z`,
    hostnames: some(hostnames),
    sectionName: random(2) === 0 ? "" : anyOf(listeners).name,
    rules: Array.from({ length: 1 + random(2) }, () => ({
      matches: Array.from({ length: 1 + random(2) }, matchOf),
      backend: anyOf(services),
    })),
  }));
  return { listeners, routes };
}

function isHost(pattern: string, host: string): boolean {
  if (pattern === "") return true;
  return pattern.startsWith("*")
    ? host.endsWith(pattern.slice(1)) && host !== pattern
    : pattern === host;
}

/** Smaller is more specific: exact names, then by length. */
function breadth(pattern: string): number {
  if (pattern === "") return 2000;
  return pattern.startsWith("*") ? 1000 - pattern.length : 100 - pattern.length;
}

function fits({ path: { type, value }, method, headers = [] }: Match, request: Request): boolean {
  const { path } = request;
  const bare = value.replace(/\/+$/, "");
  const isPath =
    type === "Exact"
      ? path === value
      : type === "PathPrefix"
        ? path === bare || path.startsWith(`${bare}/`)
        : RE2JS.compile(value).matches(path);
  const isMethod = method === undefined || method === request.method;
  return isPath && isMethod && headers.every((one) => one.value === request.header);
}

/** Every candidate, sorted as the API says. "": nobody. */
function expected({ listeners, routes }: Plain, request: Request): string {
  const [owner] = listeners
    .filter(({ hostname }) => isHost(hostname, request.host))
    .toSorted((a, b) => breadth(a.hostname) - breadth(b.hostname));
  assert.ok(owner);
  const kinds = ["PathPrefix", "RegularExpression", "Exact"];
  const candidates: { readonly rank: readonly (number | string)[]; readonly backend: string }[] =
    [];
  for (const route of routes) {
    if (route.sectionName !== "" && route.sectionName !== owner.name) continue;
    const named = route.hostnames.length === 0 ? [""] : route.hostnames;
    for (const hostname of named) {
      if (!isHost(hostname, request.host)) continue;
      // What they have in common is the narrower of the two.
      const breadthOfBoth = Math.min(breadth(hostname), breadth(owner.hostname));
      route.rules.forEach(({ matches, backend }, i) =>
        matches.forEach((match, j) => {
          if (!fits(match, request)) return;
          const { path, method, headers = [] } = match;
          const value = path.type === "PathPrefix" ? path.value.replace(/\/+$/, "") : path.value;
          const length = 10_000 - value.length;
          const isMethod = method === undefined ? 1 : 0;
          const age = `${route.created} ${route.name}`;
          const rank = [9 - kinds.indexOf(path.type), length, isMethod, 9 - headers.length];
          candidates.push({ rank: [breadthOfBoth, ...rank, age, i * 100 + j], backend });
        }),
      );
    }
  }
  const [best] = candidates.sort((a, b) => compareRanks(a.rank, b.rank));
  return best?.backend ?? "";
}

function compareRanks(a: readonly (number | string)[], b: readonly (number | string)[]): number {
  for (const [i, one] of a.entries()) {
    const other = b[i] as number | string;
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}

/** As Envoy chooses a virtual host and a route. */
function envoy(configuration: unknown, request: Request): string {
  const all = at(configuration, "virtual_hosts") as readonly {
    readonly domains: readonly string[];
  }[];
  const domain = (host: (typeof all)[number]): string =>
    String(host.domains[0]).replace(/^\*$/, "");
  const [host] = all
    .filter((one) => isHost(domain(one), request.host))
    .toSorted((a, b) => breadth(domain(a)) - breadth(domain(b)));
  const routes = (at(host, "routes") ?? []) as readonly unknown[];
  const found = routes.find((route) => isRoute(at(route, "match"), request));
  return found === undefined ? "" : String(at(found, "route.cluster")).replace(/\..*/, "");
}

function isRoute(match: unknown, request: Request): boolean {
  const {
    prefix,
    path,
    safe_regex: regex,
    headers = [],
  } = match as {
    readonly prefix?: string;
    readonly path?: string;
    readonly safe_regex?: { readonly regex: string };
    readonly headers?: readonly {
      readonly name: string;
      readonly string_match: { exact: string };
    }[];
  };
  const isPath =
    prefix !== undefined
      ? request.path.startsWith(prefix)
      : path !== undefined
        ? request.path === path
        : RE2JS.compile(regex?.regex ?? "").matches(request.path);
  const valueOf = (name: string): string | undefined =>
    name === ":method" ? request.method : request.header;
  return isPath && headers.every((one) => valueOf(one.name) === one.string_match.exact);
}

test("requests go where the objects say, whatever hosts, sections and matches overlap", () => {
  for (let round = 0; round < 150; round++) {
    const plain = plainOf(randomOf(seed * 1000 + round));
    const world = new GatewayWorld();
    for (const name of services) world.service("n", name);
    const listeners = plain.listeners.map(({ name, hostname }) => listener(name, { hostname }));
    world.put("Gateway", "n/g", { listeners });
    for (const { name, created, hostnames: names, sectionName, rules } of plain.routes) {
      const parentRefs = [{ name: "g", ...(sectionName === "" ? {} : { sectionName }) }];
      const spec = rules.map(({ matches, backend }) => {
        return { matches, backendRefs: [{ name: backend, port: 80 }] };
      });
      const named = names.length === 0 ? {} : { hostnames: names };
      world.put("HTTPRoute", `n/${name}`, { parentRefs, ...named, rules: spec }, created);
    }
    world.maker.settle();
    const configuration = resource(world.maker, routesType, "gateway-80");
    for (const host of hosts) {
      for (const path of paths) {
        for (const method of ["GET", "POST"]) {
          for (const header of [undefined, "1"]) {
            const request = { host, path, method, header };
            const told = `PILOTHOUSE_SEED=${seed}, round ${round}: ${JSON.stringify([request, plain])}`;
            assert.equal(envoy(configuration, request), expected(plain, request), told);
          }
        }
      }
    }
  }
});
