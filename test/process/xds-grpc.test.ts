/** A proxyless client of gRPC's own xDS library, through a relay. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { bound } from "./bound-child.ts";
import { XdsObjects, XdsRelay } from "./xds-relay.ts";

const path = "/test.Echo/Who";
const same = (bytes: Buffer): Buffer => bytes;
const who = {
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

/** Answers every call with its name. */
async function backend(
  name: string,
  at = 0,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  server.addService(
    { who },
    {
      who: (_call: unknown, answer: (error: null, bytes: Buffer) => void) =>
        answer(null, Buffer.from(name)),
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${at}`, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  return { server, port };
}

/** The lines that a client of that target prints. */
function startClient(
  target: string,
  port: number,
): { readonly lines: AsyncIterator<string>; stop(): void } {
  const bootstrap = {
    xds_servers: [
      {
        server_uri: `127.0.0.1:${port}`,
        channel_creds: [{ type: "insecure" }],
        server_features: ["xds_v3"],
      },
    ],
    node: { id: "test", locality: { zone: "a" } },
  };
  const file = join(import.meta.dirname, "xds-grpc-client.ts");
  const child = bound(
    spawn(process.execPath, [file, target], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) },
    }),
  );
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return { lines, stop: () => child.kill("SIGKILL") };
}

test("a client of grpc-js-xds finds its server, and follows it without a failed call", async () => {
  const [one, two] = await Promise.all([backend("one"), backend("two")]);
  const objects = new XdsObjects();
  objects.service("shop", "web");
  objects.endpoints("shop", "web", one.port, [{ address: "127.0.0.1" }]);
  const relay = await XdsRelay.start(objects);
  const client = startClient("xds:///web.shop.svc.cluster.local:80", relay.port);
  try {
    assert.equal((await client.lines.next()).value, "one");
    objects.endpoints("shop", "web", two.port, [{ address: "127.0.0.1" }]);
    assert.equal((await client.lines.next()).value, "two");
    const { refusals } = relay.face.status() as { refusals: readonly unknown[] };
    assert.deepEqual(refusals, []);
  } finally {
    client.stop();
    await relay.stop();
    for (const { server } of [one, two]) server.forceShutdown();
  }
});

test("a client of grpc-js-xds follows the GRPCRoutes of the Service that it dials", async () => {
  const [one, two] = await Promise.all([backend("one"), backend("two")]);
  const objects = new XdsObjects();
  for (const [namespace, name, port] of [
    ["shop", "web", one.port],
    ["shop", "next", two.port],
    ["secret", "vault", two.port],
  ] as const) {
    objects.service(namespace, name);
    objects.endpoints(namespace, name, port, [{ address: "127.0.0.1" }]);
  }
  const relay = await XdsRelay.start(objects);
  const client = startClient("xds:///web.shop.svc.cluster.local:80", relay.port);
  const parentRefs = [{ group: "", kind: "Service", name: "web" }];
  const route = (method: string, backendRef: object): void =>
    objects.gatewayObject("GRPCRoute", "shop", "r", {
      parentRefs,
      rules: [
        {
          matches: [{ method: { service: "test.Echo", method } }],
          backendRefs: [{ port: 80, ...backendRef }],
        },
      ],
    });
  try {
    assert.equal((await client.lines.next()).value, "one");
    route("Who", { name: "next" });
    assert.equal((await client.lines.next()).value, "two");
    // No rule fits, and then nothing that may be sent to: both are errors of the call, and nothing is refused.
    route("Else", { name: "next" });
    assert.match(String((await client.lines.next()).value), /^error: /);
    route("Who", { name: "web" });
    assert.equal((await client.lines.next()).value, "one");
    route("Who", { name: "vault", namespace: "secret" });
    assert.match(String((await client.lines.next()).value), /^error: /);
    const { refusals } = relay.face.status() as { refusals: readonly unknown[] };
    assert.deepEqual(refusals, []);
  } finally {
    client.stop();
    await relay.stop();
    for (const { server } of [one, two]) server.forceShutdown();
  }
});

test("a client of grpc-js-xds of an imported service stays in its region, falls over when that fails, and comes back", async () => {
  const [own, far] = await Promise.all([backend("own"), backend("far")]);
  const objects = new XdsObjects();
  objects.service("shop", "web");
  objects.serviceImport("shop", "web");
  const near = { cluster: "eu", isLocal: true, all: [{ address: "127.0.0.1" }] };
  objects.endpoints("shop", "web", own.port, [{ address: "127.0.0.1" }]);
  // What was imported of the own region is old: its Service's slices count.
  objects.imported("shop", "web", 9, near);
  objects.imported("shop", "web", far.port, { cluster: "us", all: [{ address: "127.0.0.1" }] });
  const relay = await XdsRelay.start(objects);
  const client = startClient("xds:///web.shop.svc.clusterset.local:80", relay.port);
  let again: Server | undefined;
  try {
    assert.equal((await client.lines.next()).value, "own");
    // Said to be unready, by its own plane.
    objects.endpoints("shop", "web", own.port, [{ address: "127.0.0.1", isReady: false }]);
    assert.equal((await client.lines.next()).value, "far");
    objects.endpoints("shop", "web", own.port, [{ address: "127.0.0.1" }]);
    assert.equal((await client.lines.next()).value, "own");
    // It ends, and no plane has noticed.
    own.server.forceShutdown();
    let line = String((await client.lines.next()).value);
    if (line.startsWith("error: ")) line = String((await client.lines.next()).value);
    assert.equal(line, "far", "one call may have been under way");
    ({ server: again } = await backend("own again", own.port));
    assert.equal((await client.lines.next()).value, "own again");
    const { refusals } = relay.face.status() as { refusals: readonly unknown[] };
    assert.deepEqual(refusals, []);
  } finally {
    client.stop();
    await relay.stop();
    for (const server of [own.server, far.server, again]) server?.forceShutdown();
  }
});
