/** Services, EndpointSlices and Ingresses as resources, read back with Envoy's own definitions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointSlice, Ingress, Service } from "#api/gen/types.ts";
import { ResourceMaker } from "./resource-maker.ts";
import { at, each, resource } from "./testing/envoy-definitions.ts";
import { digestOf, tableLimits } from "./testing/test-stream.ts";
import { clusterType, endpointsType, listenerType, routesType } from "./type-urls.ts";

const service: Service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    ports: [
      { name: "http", port: 80 },
      { name: "rpc", port: 9000, appProtocol: "kubernetes.io/h2c" },
      { name: "dns", port: 53, protocol: "UDP" },
    ],
  },
};

function slice(name: string, endpoints: EndpointSlice["endpoints"]): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name,
      namespace: "shop",
      labels: { "kubernetes.io/service-name": "web" },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: endpoints ?? [],
  };
}

function maker(): ResourceMaker {
  return new ResourceMaker(digestOf, tableLimits);
}

const port80 = "web.shop.svc.cluster.local:80";

test("a port of a Service is a cluster, a listener for clients without a proxy, and routes", () => {
  const made = maker();
  made.service("shop/web", service);
  made.settle();
  const cluster = resource(made, clusterType, port80);
  assert.deepEqual([at(cluster, "name"), at(cluster, "type")], [port80, "EDS"]);
  const config = at(cluster, "eds_cluster_config.eds_config");
  assert.deepEqual([at(config, "resource_api_version"), at(config, "ads")], ["V3", {}]);
  assert.equal(at(cluster, "connect_timeout.seconds"), "5");
  const api = at(resource(made, listenerType, port80), "api_listener.api_listener");
  assert.match(String(at(api, "@type")), /HttpConnectionManager$/);
  assert.equal(at(api, "rds.route_config_name"), port80);
  assert.equal(at(api, "http_filters.0.name"), "envoy.filters.http.router");
  const host = at(resource(made, routesType, port80), "virtual_hosts.0");
  assert.deepEqual(at(host, "domains"), ["*"]);
  assert.deepEqual(each(host, "routes", "match.prefix", "route.cluster"), [["/", port80]]);
  assert.equal(made.table(clusterType).get("web.shop.svc.cluster.local:53"), undefined);
  const http2 = resource(made, clusterType, "web.shop.svc.cluster.local:9000");
  const [key] = Object.keys(at(http2, "typed_extension_protocol_options") as object);
  assert.equal(key, "envoy.extensions.upstreams.http.v3.HttpProtocolOptions");
});

test("endpoints have zones, weights and health; an address in two slices counts once", () => {
  const made = maker();
  made.service("shop/web", service);
  const draining = { ready: false, serving: true, terminating: true };
  made.slice(
    "shop/one",
    slice("one", [
      { addresses: ["10.0.0.1"], zone: "a", conditions: { ready: true } },
      { addresses: ["10.0.0.2"], zone: "b", conditions: draining },
    ]),
  );
  made.slice(
    "shop/two",
    slice("two", [
      { addresses: ["10.0.0.1"], zone: "a", conditions: { ready: false } },
      { addresses: ["10.0.0.3"], zone: "a", conditions: { ready: false } },
    ]),
  );
  made.settle();
  const assignment = resource(made, endpointsType, port80);
  assert.equal(at(assignment, "cluster_name"), port80);
  assert.deepEqual(each(assignment, "endpoints", "locality.zone", "load_balancing_weight.value"), [
    ["a", 2],
    ["b", 1],
  ]);
  const address = "endpoint.address.socket_address";
  const ends = ["0", "1"].flatMap((i) =>
    each(
      assignment,
      `endpoints.${i}.lb_endpoints`,
      `${address}.address`,
      `${address}.port_value`,
      "health_status",
    ),
  );
  assert.deepEqual(ends, [
    ["10.0.0.1", 8080, "HEALTHY"],
    ["10.0.0.3", 8080, "UNHEALTHY"],
    ["10.0.0.2", 8080, "DRAINING"],
  ]);
});

test("an endpoint that is ready is healthy, also while it ends; what is not said is ready", () => {
  const made = maker();
  made.service("shop/web", service);
  // As publishNotReadyAddresses has it: ready whatever the pod is.
  const published = { ready: true, serving: false, terminating: true };
  const ending = { ready: false, terminating: true };
  made.slice(
    "shop/one",
    slice("one", [
      { addresses: ["10.0.0.1"], conditions: published },
      { addresses: ["10.0.0.2"], conditions: ending },
      { addresses: ["10.0.0.3"] },
    ]),
  );
  made.settle();
  const assignment = resource(made, endpointsType, port80);
  assert.deepEqual(each(assignment, "endpoints.0.lb_endpoints", "health_status"), [
    ["HEALTHY"],
    ["UNHEALTHY"],
    ["HEALTHY"],
  ]);
});

test("with hints a client is sent to endpoints for its zone first; elsewhere to all alike", () => {
  const made = maker();
  made.service("shop/web", service);
  const hinted = (address: string, zone: string): object => ({
    addresses: [address],
    zone,
    hints: { forZones: [{ name: zone }] },
  });
  const endpoints = [hinted("10.0.0.1", "a"), hinted("10.0.0.2", "b")];
  made.slice("shop/one", slice("one", endpoints as EndpointSlice["endpoints"]));
  made.settle();
  const zones = (zone: string): unknown =>
    each(resource(made, endpointsType, port80, zone), "endpoints", "locality.zone", "priority");
  assert.deepEqual(zones("b"), [
    ["b", undefined],
    ["a", 1],
  ]);
  assert.deepEqual(zones("c"), [
    ["a", undefined],
    ["b", undefined],
  ]);
});

function ingress(name: string, host: string): Ingress {
  const backend = { service: { name: "web", port: { name: "http" } } };
  const paths = [
    { path: "/a", pathType: "Prefix", backend },
    { path: "/a", pathType: "Exact", backend },
    { path: "/", pathType: "Prefix", backend },
  ];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name, namespace: "shop" },
    spec: { rules: [{ host, http: { paths } }] },
  };
}

test("Ingresses are one listener of Envoy, and a listener for each host", () => {
  const made = maker();
  made.service("shop/web", service);
  made.ingress("shop/i", ingress("i", "shop.example"));
  made.settle();
  const listener = resource(made, listenerType, "ingress-http");
  assert.equal(at(listener, "address.socket_address.port_value"), 8080);
  const filter = at(listener, "filter_chains.0.filters.0.typed_config");
  assert.equal(at(filter, "rds.route_config_name"), "ingress-http");
  const host = at(resource(made, routesType, "ingress-http"), "virtual_hosts.0");
  assert.deepEqual(at(host, "domains"), ["shop.example", "shop.example:*"]);
  assert.deepEqual(each(host, "routes", "match.path", "match.prefix"), [
    [undefined, "/a/"],
    ["/a", undefined],
    ["/a", undefined],
    [undefined, "/"],
  ]);
  assert.ok(made.table(listenerType).get("shop.example:80"));
  made.ingress("shop/i", undefined);
  made.settle();
  assert.equal(made.table(listenerType).get("ingress-http"), undefined);
});

test("a host is made anew when its rules or its Services change, and others stay", () => {
  const made = maker();
  made.service("shop/web", service);
  made.ingress("shop/i", ingress("i", "shop.example"));
  made.ingress("shop/j", ingress("j", "other.example"));
  made.settle();
  const routes = (name: string): unknown =>
    each(resource(made, routesType, name), "virtual_hosts.0.routes", "match.path", "match.prefix");
  const other = made.table(routesType).get("other.example:80");
  const { spec } = ingress("i", "shop.example");
  const [rule] = spec?.rules ?? [];
  const paths = rule?.http?.paths.slice(1, 2) ?? [];
  const rules = [{ host: "shop.example", http: { paths } }];
  made.ingress("shop/i", { metadata: { name: "i", namespace: "shop" }, spec: { rules } });
  made.settle();
  assert.deepEqual(routes("shop.example:80"), [["/a", undefined]]);
  assert.equal(made.table(routesType).get("other.example:80"), other);
  made.service("shop/web", undefined);
  made.settle();
  assert.equal(made.table(routesType).get("shop.example:80"), undefined);
});

test("an Ingress cannot take the name of another namespace's Service", () => {
  const made = maker();
  made.service("shop/web", service);
  made.settle();
  const before = made.table(routesType).get(port80);
  made.ingress("evil/i", ingress("i", "web.shop.svc.cluster.local"));
  made.settle();
  assert.equal(made.table(routesType).get(port80), before);
});

test("resources are a function of the objects, in whatever order they came", () => {
  const versions = (made: ResourceMaker): unknown =>
    made.tables.map((table) =>
      [...table.listed()].map(({ name, content }) => `${name} ${content.version}`).sort(),
    );
  const [one, other] = [maker(), maker()];
  const slices = ["s1", "s2"].map((name, i) =>
    slice(name, [{ addresses: [`10.0.0.${i}`], zone: `z${i}` }]),
  );
  one.service("shop/web", service);
  one.settle();
  slices.forEach((each, i) => one.slice(`shop/s${i}`, each));
  one.ingress("shop/i", ingress("i", "shop.example"));
  one.settle();
  other.ingress("shop/i", ingress("i", "shop.example"));
  other.slice("shop/s1", slices[1]);
  other.slice("shop/gone", slices[0]);
  other.settle();
  other.slice("shop/gone", undefined);
  other.slice("shop/s0", slices[0]);
  other.service("shop/web", service);
  other.settle();
  assert.deepEqual(versions(one), versions(other));
  one.service("shop/web", undefined);
  one.settle();
  assert.equal(one.table(endpointsType).size + one.table(clusterType).size, 0);
});

/** Priority, region, and addresses of each locality. */
function placesOf(made: ResourceMaker, name: string): unknown {
  made.settle();
  const assignment = resource(made, endpointsType, name);
  return ((at(assignment, "endpoints") ?? []) as readonly object[]).map((one) => [
    Number(at(one, "priority") ?? 0),
    at(one, "locality.region"),
    each(one, "lb_endpoints", "endpoint.address.socket_address.address").flat(),
  ]);
}

function importedSlice(cluster: string, address: string, more: object = {}): EndpointSlice {
  const labels = {
    "multicluster.kubernetes.io/service-name": "web",
    "multicluster.kubernetes.io/source-cluster": cluster,
    ...more,
  };
  const made = slice(cluster, [{ addresses: [address], zone: "a" }]);
  return { ...made, metadata: { ...made.metadata, labels } };
}

const imported80 = "web.shop.svc.clusterset.local:80";
const webImport = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ServiceImport",
  metadata: { name: "web", namespace: "shop" },
  spec: { type: "ClusterSetIP", ports: [{ name: "http", port: 80 }] },
};

test("an imported service has its own cluster first, by the Service beside it, and others behind", () => {
  const made = maker();
  made.serviceImport("shop/web", webImport);
  assert.deepEqual(placesOf(made, imported80), []);
  made.slice("shop/us", importedSlice("us", "10.1.0.1"));
  made.slice("shop/ap", importedSlice("ap", "10.2.0.1"));
  assert.deepEqual(placesOf(made, imported80), [
    [0, "ap", ["10.2.0.1"]],
    [0, "us", ["10.1.0.1"]],
  ]);
  const local = { "regions.pilothouse.dev/local": "true" };
  made.slice("shop/eu", importedSlice("eu", "10.3.0.1", local));
  assert.deepEqual(placesOf(made, imported80), [
    [0, "eu", ["10.3.0.1"]],
    [1, "ap", ["10.2.0.1"]],
    [1, "us", ["10.1.0.1"]],
  ]);
  made.service("shop/web", service);
  made.slice("shop/own", slice("own", [{ addresses: ["10.3.0.9"], zone: "a" }]));
  // An address that stands twice would be refused by the client.
  made.slice("shop/ap", importedSlice("ap", "10.3.0.9"));
  assert.deepEqual(placesOf(made, imported80), [
    [0, "eu", ["10.3.0.9"]],
    [1, "us", ["10.1.0.1"]],
  ]);
  assert.equal(at(resource(made, clusterType, imported80), "type"), "EDS");
  made.serviceImport("shop/web", undefined);
  made.settle();
  for (const type of [clusterType, endpointsType, listenerType, routesType]) {
    assert.equal(made.table(type).get(imported80), undefined);
  }
});
