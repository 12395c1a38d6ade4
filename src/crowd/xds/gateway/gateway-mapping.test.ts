/** Gateways, routes and grants as resources, read back with Envoy's own definitions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, each, resource } from "../testing/envoy-definitions.ts";
import { backend, GatewayWorld, listener } from "../testing/gateway-world.ts";
import { clusterType, listenerType, routesType } from "../type-urls.ts";

const gateway = "gateway-80";
const parentRefs = [{ name: "edge" }];
const cluster = (name: string, namespace = "shop"): string =>
  `${name}.${namespace}.svc.cluster.local:80`;

function world(): GatewayWorld {
  const made = new GatewayWorld();
  for (const name of ["a", "b", "c"]) made.service("shop", name);
  made.put("Gateway", "shop/edge", { listeners: [listener("http")] });
  return made;
}

function routesOf(made: GatewayWorld, host = 0): unknown {
  made.maker.settle();
  return at(resource(made.maker, routesType, gateway), `virtual_hosts.${host}.routes`);
}

function firstRoute(made: GatewayWorld, rule: object): unknown {
  made.put("HTTPRoute", "shop/r", { parentRefs, rules: [rule] });
  return at(routesOf(made), "0");
}

test("a Gateway is a listener of Envoy at its port, and its routes", () => {
  const made = world();
  made.put("HTTPRoute", "shop/r", {
    parentRefs,
    hostnames: ["Shop.Example"],
    rules: [{ matches: [{ path: { value: "/a" } }], backendRefs: [backend("a")] }],
  });
  made.maker.settle();
  const found = resource(made.maker, listenerType, gateway);
  assert.equal(at(found, "address.socket_address.port_value"), 80);
  const manager = at(found, "filter_chains.0.filters.0.typed_config");
  assert.equal(at(manager, "rds.route_config_name"), gateway);
  assert.equal(at(manager, "strip_any_host_port"), true);
  const hosts = resource(made.maker, routesType, gateway);
  assert.deepEqual(each(hosts, "virtual_hosts", "domains.0"), [["*"], ["shop.example"]]);
  assert.deepEqual(each(hosts, "virtual_hosts.1.routes", "match.path", "match.prefix"), [
    ["/a", undefined],
    [undefined, "/a/"],
  ]);
  assert.equal(at(hosts, "virtual_hosts.1.routes.0.route.cluster"), cluster("a"));
  made.delete("Gateway", "shop/edge");
  made.maker.settle();
  assert.equal(made.maker.table(listenerType).get(gateway), undefined);
});

test("matches of headers, query parameters and methods are those of Envoy", () => {
  const route = firstRoute(world(), {
    matches: [
      {
        path: { type: "RegularExpression", value: "/v[0-9]+/.*" },
        method: "GET",
        headers: [
          { name: "X-One", value: "1" },
          { name: "x-one", value: "ignored" },
          { name: "x-two", type: "RegularExpression", value: "a|b" },
        ],
        queryParams: [{ name: "q", value: "" }],
      },
    ],
    backendRefs: [backend("a")],
  });
  assert.equal(at(route, "match.safe_regex.regex"), "/v[0-9]+/.*");
  const paths = ["name", "string_match.exact", "string_match.safe_regex"];
  assert.deepEqual(each(route, "match.headers", ...paths), [
    [":method", "GET", undefined],
    ["x-one", "1", undefined],
    ["x-two", undefined, { regex: "a|b" }],
  ]);
  assert.deepEqual(each(route, "match.query_parameters", "name", "string_match.exact"), [
    ["q", ""],
  ]);
});

test("weights are kept; the share of a backend that is not there is answered with 500", () => {
  const made = world();
  const backendRefs = [backend("a", { weight: 9 }), backend("gone", { weight: 1 })];
  const { route } = firstRoute(made, { backendRefs }) as { route: unknown };
  assert.deepEqual(each(route, "weighted_clusters.clusters", "name", "weight.value"), [
    [cluster("a"), 9],
    ["refused-backend", 1],
  ]);
  assert.equal(at(route, "cluster_not_found_response_code"), "INTERNAL_SERVER_ERROR");
  const nowhere = [
    { backendRefs: [backend("gone")] },
    { backendRefs: [backend("a", { weight: 0 })] },
    { backendRefs: [backend("a", { port: 8080 })] },
    { backendRefs: [backend("a", { kind: "Bucket", group: "example.com" })] },
    { backendRefs: [backend("a")], filters: [{ type: "ExtensionRef" }] },
    {},
  ];
  for (const rule of nowhere) {
    assert.equal(at(firstRoute(made, rule), "direct_response.status"), 500, JSON.stringify(rule));
  }
  made.service("shop", "gone");
  assert.equal(at(firstRoute(made, nowhere[0]!), "route.cluster"), cluster("gone"));
});

test("filters change headers, host and path, redirect, and mirror", () => {
  const made = world();
  const path = { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" };
  const requestHeaderModifier = {
    set: [{ name: "X-A", value: "100%" }],
    add: [{ name: "x-b", value: "1" }],
    remove: ["X-C"],
  };
  const mirror = { backendRef: backend("b"), percent: 50 };
  made.put("HTTPRoute", "shop/r", {
    parentRefs,
    rules: [
      {
        matches: [{ path: { value: "/old" } }],
        filters: [
          { type: "RequestHeaderModifier", requestHeaderModifier },
          { type: "ResponseHeaderModifier", responseHeaderModifier: { remove: ["server"] } },
          { type: "URLRewrite", urlRewrite: { hostname: "in.example", path } },
          { type: "RequestMirror", requestMirror: mirror },
        ],
        backendRefs: [backend("a")],
        timeouts: { request: "1m500ms" },
      },
    ],
  });
  const [exact, below] = routesOf(made) as readonly unknown[];
  assert.deepEqual(
    each(exact, "request_headers_to_add", "header.key", "header.value", "append_action"),
    [
      ["x-a", "100%%", "OVERWRITE_IF_EXISTS_OR_ADD"],
      ["x-b", "1", undefined],
    ],
  );
  assert.deepEqual(at(exact, "request_headers_to_remove"), ["x-c"]);
  assert.deepEqual(at(exact, "response_headers_to_remove"), ["server"]);
  assert.equal(at(exact, "route.host_rewrite_literal"), "in.example");
  assert.deepEqual(
    [at(exact, "route.prefix_rewrite"), at(below, "route.prefix_rewrite")],
    ["/new", "/new/"],
  );
  assert.deepEqual(at(exact, "route.timeout"), { seconds: "60", nanos: 500_000_000 });
  const fraction = "runtime_fraction.default_value";
  assert.deepEqual(
    each(exact, "route.request_mirror_policies", "cluster", `${fraction}.numerator`),
    [[cluster("b"), 500_000]],
  );
  const requestRedirect = { scheme: "https", hostname: "new.example", port: 8443, statusCode: 301 };
  const redirect = at(
    firstRoute(made, { filters: [{ type: "RequestRedirect", requestRedirect }] }),
    "redirect",
  );
  assert.deepEqual(redirect, {
    host_redirect: "new.example",
    scheme_redirect: "https",
    port_redirect: 8443,
  });
});

test("a backend of another namespace needs its grant, for this kind of route and this Service", () => {
  const made = world();
  made.service("pay", "secret");
  const backendRefs = [backend("secret", { namespace: "pay" })];
  const isRefused = (): boolean =>
    at(firstRoute(made, { backendRefs }), "direct_response") !== undefined;
  const grant = (from: object, to: object): void =>
    made.put("ReferenceGrant", "pay/g", {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "shop", ...from }],
      to: [{ group: "", kind: "Service", ...to }],
    });
  assert.ok(isRefused());
  const none: readonly (readonly [object, object])[] = [
    [{ namespace: "other" }, {}],
    [{ kind: "GRPCRoute" }, {}],
    [{ group: "example.com" }, {}],
    [{}, { name: "public" }],
    [{}, { kind: "Secret" }],
  ];
  for (const [from, to] of none) {
    grant(from, to);
    assert.ok(isRefused(), JSON.stringify([from, to]));
  }
  grant({}, { name: "secret" });
  assert.ok(!isRefused());
  grant({}, {});
  assert.ok(!isRefused());
  made.delete("ReferenceGrant", "pay/g");
  assert.ok(isRefused());
  const names = Buffer.from(made.maker.table(routesType).get(gateway)!.content.stateField);
  assert.ok(!names.includes("secret"), "it is not named either");
});

test("a listener takes routes of the namespaces, kinds, sections and ports that it says", () => {
  const made = world();
  const allowed = (namespaces: object, more: object = {}): object =>
    listener("http", { allowedRoutes: { namespaces, ...more } });
  const count = (one: object, parent: object = {}): number => {
    made.put("Gateway", "shop/edge", { listeners: [one] });
    const refs = [{ name: "edge", namespace: "shop", ...parent }];
    made.put("HTTPRoute", "team/r", { parentRefs: refs, rules: [{}] });
    const routes = routesOf(made);
    return (routes as readonly unknown[] | undefined)?.length ?? 0;
  };
  made.namespace("team", { gate: "open" });
  const selector = { matchLabels: { gate: "open" } };
  assert.equal(count(allowed({})), 0);
  assert.equal(count(allowed({ from: "Same" })), 0);
  assert.equal(count(allowed({ from: "All" })), 1);
  assert.equal(count(allowed({ from: "Selector", selector })), 1);
  made.namespace("team", { gate: "shut" });
  assert.equal(count(allowed({ from: "Selector", selector })), 0);
  assert.equal(count(allowed({ from: "Selector", selector: { matchExpressions: 7 } })), 0);
  assert.equal(count(allowed({ from: "All" }, { kinds: [{ kind: "GRPCRoute" }] })), 0);
  assert.equal(count(allowed({ from: "All" }), { sectionName: "http", port: 80 }), 1);
  assert.equal(count(allowed({ from: "All" }), { sectionName: "other" }), 0);
  assert.equal(count(allowed({ from: "All" }), { port: 81 }), 0);
});

test("GRPCRoutes match services and methods, and their backends speak HTTP/2", () => {
  const made = world();
  made.put("GRPCRoute", "shop/r", {
    parentRefs,
    rules: [
      { matches: [{ method: { method: "Get" } }], backendRefs: [backend("c")] },
      { matches: [{ method: { service: "a.B" } }], backendRefs: [backend("b")] },
      { matches: [{ method: { service: "a.B", method: "Get" } }], backendRefs: [backend("a")] },
    ],
  });
  const found = routesOf(made) as readonly unknown[];
  const paths = found.map((one) => [
    at(one, "match.path") ?? at(one, "match.prefix") ?? at(one, "match.safe_regex.regex"),
    at(one, "route.cluster"),
    at(one, "route.timeout.seconds") ?? "0",
  ]);
  assert.deepEqual(paths, [
    ["/a.B/Get", cluster("a"), "0"],
    ["/a.B", cluster("b"), "0"],
    ["/a.B/", cluster("b"), "0"],
    ["/[^/]+/Get", cluster("c"), "0"],
  ]);
  const http2 = (): boolean =>
    "typed_extension_protocol_options" in
    (resource(made.maker, clusterType, cluster("a")) as object);
  assert.ok(http2());
  made.delete("GRPCRoute", "shop/r");
  made.maker.settle();
  assert.ok(!http2());
});

test("a Service with routes of its own sends its clients where they say", () => {
  const made = world();
  const parents = [{ group: "", kind: "Service", name: "a", port: 80 }];
  const version = (value: string): object => ({ headers: [{ name: "v", value }] });
  made.put("GRPCRoute", "shop/r", {
    parentRefs: parents,
    rules: [
      { matches: [version("2")], backendRefs: [backend("b")] },
      { backendRefs: [backend("a", { weight: 3 }), backend("c")] },
    ],
  });
  made.maker.settle();
  const routes = (name: string): unknown =>
    at(resource(made.maker, routesType, name), "virtual_hosts.0.routes");
  const [first, second] = routes(cluster("a")) as readonly unknown[];
  assert.equal(at(first, "route.cluster"), cluster("b"));
  assert.deepEqual(each(second, "route.weighted_clusters.clusters", "name", "weight.value"), [
    [cluster("a"), 3],
    [cluster("c"), 1],
  ]);
  assert.equal(at(routes("a.shop.svc.cluster.local:81"), "0.match.prefix"), "/");
  // Of another namespace than the Service's: not for all of its clients.
  made.put("GRPCRoute", "team/r", {
    parentRefs: [{ group: "", kind: "Service", name: "a", namespace: "shop" }],
    rules: [{ backendRefs: [backend("c", { namespace: "shop" })] }],
  });
  made.maker.settle();
  assert.equal((routes(cluster("a")) as readonly unknown[]).length, 2);
  made.delete("GRPCRoute", "shop/r");
  made.maker.settle();
  assert.equal(at(routes(cluster("a")), "0.route.cluster"), cluster("a"));
});

test("of two Gateways with the same port and hostname the older one's listener counts", () => {
  const made = world();
  made.put("Gateway", "shop/edge", { listeners: [listener("http")] }, "2020-01-01T00:00:00Z");
  made.put("Gateway", "evil/edge", { listeners: [listener("http")] }, "2021-01-01T00:00:00Z");
  made.service("evil", "a");
  made.put("HTTPRoute", "evil/r", { parentRefs, rules: [{ backendRefs: [backend("a")] }] });
  made.put("HTTPRoute", "shop/r", { parentRefs, rules: [{ backendRefs: [backend("a")] }] });
  const found = routesOf(made) as readonly unknown[];
  assert.deepEqual(
    found.map((one) => at(one, "route.cluster")),
    [cluster("a")],
  );
});

test("what is read of an object decides: a change of its status makes nothing anew", () => {
  const made = world();
  made.put("HTTPRoute", "shop/r", { parentRefs, rules: [{ backendRefs: [backend("a")] }] });
  made.maker.settle();
  const before = made.maker.table(routesType).get(gateway);
  made.put("HTTPRoute", "shop/r", { parentRefs, rules: [{ backendRefs: [backend("a")] }] });
  made.maker.settle();
  assert.equal(made.maker.table(routesType).get(gateway), before);
});
