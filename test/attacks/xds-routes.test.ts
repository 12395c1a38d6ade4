/** Hostile Gateways and routes: an author of one namespace against the proxies of all others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, each, resource } from "#xds/testing/envoy-definitions.ts";
import { backend, GatewayWorld, listener } from "#xds/testing/gateway-world.ts";
import { listenerType, routesType } from "#xds/type-urls.ts";

const gateway = "gateway-80";
const parentRefs = [{ name: "edge", namespace: "shop" }];
const good = { backendRefs: [backend("a")] };

function world(): GatewayWorld {
  const made = new GatewayWorld();
  made.service("shop", "a");
  made.service("secret", "vault");
  const allowedRoutes = { namespaces: { from: "All" } };
  made.put("Gateway", "shop/edge", { listeners: [listener("http", { allowedRoutes })] });
  made.put("HTTPRoute", "shop/good", { parentRefs, hostnames: ["good.example"], rules: [good] });
  return made;
}

/** The domains of all hosts, and how many routes each has. */
function hosts(made: GatewayWorld): readonly unknown[] {
  made.maker.settle();
  const found = resource(made.maker, routesType, gateway);
  return (at(found, "virtual_hosts") as readonly unknown[]).map((host) => [
    at(host, "domains.0"),
    ((at(host, "routes") ?? []) as readonly unknown[]).length,
  ]);
}

const onlyGood = [
  ["*", 0],
  ["good.example", 1],
];

test("hostnames that are none are of nobody, and none stands twice for a proxy", () => {
  const made = world();
  const bad = ["", "*", "a b", "*.*.x", "a*.x", "x.*", "-a", "a..b", "a/b", "x:80", "é.example"];
  bad.push("a".repeat(300), `${"a.".repeat(126)}aa`, "\0", "good.example\n");
  for (const hostname of bad) {
    made.put("HTTPRoute", "evil/r", { parentRefs, hostnames: [hostname], rules: [good] });
    assert.deepEqual(hosts(made), onlyGood, JSON.stringify(hostname));
  }
  const hostnames = ["GOOD.example", "good.EXAMPLE", "good.example"];
  made.put("HTTPRoute", "evil/r", { parentRefs, hostnames, rules: [good] });
  assert.deepEqual(hosts(made), [
    ["*", 0],
    ["good.example", 2],
  ]);
});

test("matches that a proxy would refuse cost their rule alone", () => {
  const made = world();
  const regex = (value: string): object => ({ path: { type: "RegularExpression", value } });
  const bad: readonly object[] = [
    ...[
      "(",
      "(?=a)",
      "(a+)+\\1",
      "a{1001}",
      "[^/]{500}",
      "\\pL{60}",
      "",
      "é",
      "x".repeat(2000),
    ].map(regex),
    regex("((a{30}){30}){30}"),
    { path: { type: "Exact", value: "/a?b" } },
    { path: { type: "PathPrefix", value: "a" } },
    { path: { type: "Glob", value: "/a" } },
    { path: { value: `/${"a".repeat(5000)}` } },
    { method: "BREW" },
    { headers: [{ name: "a:b", value: "1" }] },
    { headers: [{ name: "a", value: "\0" }] },
    { headers: Array.from({ length: 100 }, (_, i) => ({ name: `h${i}`, value: "1" })) },
    { queryParams: [{ name: "", value: "1" }] },
  ];
  const set = (name: string, value: string): object => ({
    filters: [{ type: "RequestHeaderModifier", requestHeaderModifier: { set: [{ name, value }] } }],
  });
  const filters: readonly object[] = [
    set("host", "x"),
    set("a", "b\r\nc: d"),
    set(":path", "/"),
    { filters: [{ type: "URLRewrite", urlRewrite: { hostname: "*.x" } }] },
    { filters: [{ type: "RequestRedirect", requestRedirect: { statusCode: 200 } }] },
    { filters: [{ type: "RequestRedirect", requestRedirect: { port: 1e9 } }] },
    { timeouts: { request: "-1s" } },
    { timeouts: { request: "1e9s" } },
    { backendRefs: [backend("a", { weight: -1 })] },
    { backendRefs: [backend("a", { weight: 1e12 })] },
  ];
  for (const rule of [...bad.map((match) => ({ matches: [match] })), ...filters]) {
    const spec = { parentRefs, hostnames: ["evil.example"], rules: [rule, good] };
    made.put("HTTPRoute", "evil/r", spec);
    const expected = [onlyGood[0], ["evil.example", 1], onlyGood[1]];
    assert.deepEqual(hosts(made), expected, JSON.stringify(rule).slice(0, 200));
    assert.equal(made.maker.problems.length, 1);
  }
});

test("10,000 rules are left out whole, and many routes leave the hosts of others their own", () => {
  const made = world();
  const rules = Array.from({ length: 10_000 }, () => good);
  made.put("HTTPRoute", "evil/r", { parentRefs, hostnames: ["evil.example"], rules });
  assert.deepEqual(hosts(made), onlyGood);
  assert.deepEqual(made.maker.problems, ["HTTPRoute evil/r: more than 64 rules"]);
  const matches = Array.from({ length: 200 }, (_, i) => ({ path: { value: `/${i}` } }));
  const many = { parentRefs, hostnames: ["*.example"], rules: [{ matches, ...good }] };
  // Each would stand in good.example as well.
  for (let i = 0; i < 90; i++) made.put("HTTPRoute", `evil/r${i}`, many, "2030-01-01T00:00:00Z");
  const found = hosts(made);
  assert.deepEqual(found.at(-1), ["good.example", 1]);
  assert.match(made.maker.problems[0] ?? "", /more than 20000 matches/);
});

test("a Service of another namespace is neither reached nor told, whoever asks for it", () => {
  const made = world();
  const toVault = { backendRefs: [backend("vault", { namespace: "secret" })] };
  const grants: readonly object[] = [
    {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "evil" }],
      to: [{ group: "", kind: "Service" }],
    },
  ];
  // A grant counts in its own namespace: one of the route's says nothing.
  made.put("ReferenceGrant", "evil/g", grants[0] as object);
  const mirror = {
    type: "RequestMirror",
    requestMirror: { backendRef: backend("vault", { namespace: "secret" }) },
  };
  const rules = [
    toVault,
    { filters: [mirror], backendRefs: [backend("a", { namespace: "shop" })] },
  ];
  made.put("HTTPRoute", "evil/r", { parentRefs, hostnames: ["evil.example"], rules });
  made.put("HTTPRoute", "shop/m", {
    parentRefs: [{ group: "", kind: "Service", name: "a" }],
    rules: [toVault, { ...good, filters: [mirror] }],
  });
  made.maker.settle();
  for (const name of [gateway, "a.shop.svc.cluster.local:80"]) {
    const bytes = Buffer.from(made.maker.table(routesType).get(name)!.content.stateField);
    assert.ok(!bytes.includes("vault"), name);
  }
  const evil = resource(made.maker, routesType, gateway);
  assert.deepEqual(each(evil, "virtual_hosts.1.routes", "direct_response.status"), [[500], [500]]);
});

test("nobody takes the routes of another namespace's Service, nor its names", () => {
  const made = world();
  made.maker.settle();
  const name = "vault.secret.svc.cluster.local:80";
  const before = made.maker.table(routesType).get(name);
  const parents = [{ group: "", kind: "Service", name: "vault", namespace: "secret" }];
  made.put("HTTPRoute", "evil/r", { parentRefs: parents, rules: [good] });
  made.put("Gateway", "evil/g", {
    listeners: [listener("l", { hostname: "vault.secret.svc.cluster.local" })],
  });
  made.maker.settle();
  assert.equal(made.maker.table(routesType).get(name), before);
});

test("objects of another shape than their definition's are read as nothing", () => {
  const made = world();
  made.maker.settle();
  const odd: readonly unknown[] = [null, 7, "x", [], [[]], { listeners: 7 }, { rules: {} }];
  const odder: readonly unknown[] = [
    { rules: [null, 7], parentRefs: [null, 7] },
    { parentRefs, rules: [{ matches: [7, null], backendRefs: "x", filters: {} }] },
    { parentRefs, hostnames: {}, rules: [{ timeouts: 7, backendRefs: [null] }] },
    { listeners: [null, 7, { port: "80", protocol: "HTTP" }, { port: 80.5, protocol: "HTTP" }] },
    {
      listeners: [
        {
          port: 81,
          protocol: "HTTP",
          allowedRoutes: { namespaces: { from: "Selector", selector: { matchExpressions: [7] } } },
        },
      ],
    },
    { from: 7, to: [null] },
    JSON.parse('{"__proto__": {"listeners": []}, "listeners": {"length": 3}}'),
  ];
  for (const spec of [...odd, ...odder]) {
    for (const kind of ["Gateway", "HTTPRoute", "GRPCRoute", "ReferenceGrant"] as const) {
      made.put(kind, "evil/odd", spec as object);
      made.maker.settle();
    }
  }
  assert.ok(made.maker.table(listenerType).get(gateway));
});
