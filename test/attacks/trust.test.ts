/**
 * Whom TLS believes, at every door of the product: any certificate of a bundle is an anchor, as in Go, and all else
 * that is checked stays checked. What each door must believe is the same, so there is one table for all.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { createServer as createHttps, request } from "node:https";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTls, TLSSocket } from "node:tls";
import { after, describe, test } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { type EtcdListening, listenEtcd, recommendedServerLimits } from "#etcd/server.ts";
import type { PlainHandler } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { hostsTransport } from "#platform/node/http/http-hosts.ts";
import { http2HostsTransport } from "#platform/node/http/http2-hosts.ts";
import { chain } from "#platform/testing/chain.ts";
import { JetStreamConnection } from "#sinks/drivers/jetstream-connection.ts";
import { RedisConnection } from "#sinks/drivers/redis-connection.ts";

type Pair = (typeof chain)["leaf"];

const limits = { connectMs: 10_000, headBytesMax: 65_536, idleSocketsMax: 1 };
const open: { close(): void }[] = [];
after(() => {
  for (const each of open) each.close();
});

async function listening(server: Server): Promise<number> {
  open.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port; // a TCP server
}

function tlsOf({ certificate, privateKey }: Pair) {
  return { cert: certificate + chain.intermediate, key: privateKey };
}

/** Whether a server that shows `pair` is believed by `ca`. */
type ServerDoor = (pair: Pair, ca: string) => Promise<boolean>;

const answered = async (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  );

function byTransport(make: typeof hostsTransport): ServerDoor {
  return async (pair, ca) => {
    const port = await listening(createHttps(tlsOf(pair), (_request, response) => response.end()));
    const transport = make({ credentials: () => ({ ca }), limits });
    open.push(transport);
    const host = { scheme: "https", name: "localhost", address: "127.0.0.1", port } as const;
    const { signal } = new AbortController();
    return answered(transport.send(host, { method: "GET", target: "/", headers: {}, signal }));
  };
}

const byClient: ServerDoor = async (pair, ca) => {
  const port = await listening(createHttps(tlsOf(pair), (_request, response) => response.end()));
  const server = `https://localhost:${port}`;
  const client = httpClient({ server, ca, limits: httpClientLimits });
  open.push(client);
  const { signal } = new AbortController();
  return answered(client.send({ method: "GET", target: "/", headers: {}, signal }));
};

const byEtcdClient: ServerDoor = async (pair, ca) => {
  const listener = await etcdServer(tlsOf(pair));
  const client = new EtcdClient(`https://localhost:${listener.port}`, { ca });
  const call = client.forward("/none/none", Buffer.alloc(5));
  const failure = await call.then(
    () => undefined,
    (error: unknown) => String(error),
  );
  client.close();
  // It was asked, and does not know the method.
  return failure?.includes("unknown") === true;
};

function etcdServer(tls: { cert: string; key: string; clientCa?: string }): Promise<EtcdListening> {
  const deps = { clock: new NodeClock(), log: silentLog, methods: new Map() };
  const http = () => ({ status: 404, headers: {}, body: Buffer.alloc(0) });
  const options = { host: "127.0.0.1", port: 0, tls, limits: recommendedServerLimits };
  return listenEtcd({ ...deps, http }, options).then((made) => {
    open.push({ close: () => void made.close() });
    return made;
  });
}

/** Whether a byte comes in behind the handshake. */
function firstByte(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once("data", () => resolve(true)).once("close", () => resolve(false));
    socket.on("error", () => {});
  });
}

/** A broker that hears one byte and hangs up, so that opening fails either way. */
class Broker {
  hasHeard = false;

  hear(socket: Socket): void {
    socket.on("error", () => {});
    socket.once("data", () => {
      this.hasHeard = true;
      socket.destroy();
    });
  }
}

const byRedis: ServerDoor = async (pair, ca) => {
  const broker = new Broker();
  const server = createTls(tlsOf(pair), (socket) => broker.hear(socket));
  const url = `rediss://localhost:${await listening(server)}`;
  const target = { url, username: undefined, password: undefined, ca };
  assert.equal(await answered(RedisConnection.open(target, new AbortController().signal)), false);
  return broker.hasHeard;
};

const byNats: ServerDoor = async (pair, ca) => {
  const broker = new Broker();
  const info = { server_id: "s", version: "2.11.0", max_payload: 1_000, tls_required: true };
  const server = createTcp((plain) => {
    plain.on("error", () => {});
    plain.write(`INFO ${JSON.stringify({ ...info, headers: true, proto: 1 })}\r\n`);
    broker.hear(new TLSSocket(plain, { isServer: true, ...tlsOf(pair) }));
  });
  const servers = [`localhost:${await listening(server)}`];
  const target = { servers, credentials: undefined, ca, stream: "s", subjects: "s" };
  const { signal } = new AbortController();
  const opening = JetStreamConnection.open({ ...target, keepPerSubject: undefined }, signal);
  assert.equal(await answered(opening), false);
  return broker.hasHeard;
};

const serverDoors: Readonly<Record<string, ServerDoor>> = {
  "kubelets, pods, Services and aggregated servers": byTransport(hostsTransport),
  "webhooks of admission and conversion": byTransport(http2HostsTransport),
  "the server of a kubeconfig, and HTTP receivers": byClient,
  etcd: byEtcdClient,
  Redis: byRedis,
  NATS: byNats,
};

describe("a server is believed by any certificate of the bundle, and by nothing else", () => {
  const { leaf, selfSigned, root, intermediate, stranger } = chain;
  const believed: readonly [string, Pair, string][] = [
    ["its root", leaf, root],
    ["an intermediate authority alone", leaf, intermediate],
    ["its own certificate", leaf, leaf.certificate],
    ["its own certificate, which signed itself", selfSigned, selfSigned.certificate],
    [
      "one of several",
      leaf,
      chain.forClients.certificate + chain.otherHost.certificate + intermediate,
    ],
  ];
  const refused: readonly [string, Pair, string][] = [
    ["an authority of the same name", leaf, stranger],
    ["another certificate of the same authority", leaf, chain.forServers.certificate],
    ["its own certificate, after its end", chain.expired, chain.expired.certificate],
    ["its authority, without the name", chain.otherHost, intermediate],
    ["its own certificate, without the name", chain.otherHost, chain.otherHost.certificate],
    ["its authority, as one for clients", chain.forClients, intermediate],
  ];
  for (const [name, isBelieved] of Object.entries(serverDoors)) {
    test(`${name}`, async () => {
      for (const [what, pair, ca] of believed) assert.equal(await isBelieved(pair, ca), true, what);
      for (const [what, pair, ca] of refused) assert.equal(await isBelieved(pair, ca), false, what);
    });
  }
});

/** Whether a client that shows `pair` is known by `ca`. */
type ClientDoor = (pair: Pair, ca: string) => Promise<boolean>;

/** Answers with what the listener made of the certificate. */
const echo: PlainHandler = ({ peer }) => {
  const known = peer.kind === "socket" ? peer : undefined;
  const body = JSON.stringify([
    known?.certificate !== undefined,
    known?.proxyCertificate !== undefined,
  ]);
  const headers = { "content-type": "application/json" };
  return Promise.resolve({ kind: "bytes", status: 200, headers, body: [Buffer.from(body)] });
};

async function seenBy(
  pair: Pair,
  trusted: { readonly clientCa: string; readonly proxyCa?: string },
): Promise<readonly boolean[]> {
  const { certificate: cert, privateKey: key } = chain.selfSigned;
  const at = { host: "127.0.0.1", port: 0, cert, key, limits: httpLimits };
  const listener: Listening = await listen({ ...at, ...trusted }, echo, silentLog);
  open.push({ close: () => void listener.close(0) });
  const { port } = listener.address;
  const options = { host: "localhost", port, ca: cert, agent: false, ...tlsOf(pair) };
  const sent = request(options).end();
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return JSON.parse(text) as readonly boolean[];
}

const byListener: ClientDoor = async (pair, clientCa) => {
  const [isClient = false] = await seenBy(pair, { clientCa });
  return isClient;
};

const byListenerWithProxies: ClientDoor = async (pair, clientCa) => {
  const [isClient = false, isProxy] = await seenBy(pair, {
    clientCa,
    proxyCa: chain.expired.certificate,
  });
  assert.notEqual(isProxy, true);
  return isClient;
};

const byProxyAuthority: ClientDoor = async (pair, proxyCa) => {
  const [isClient, isProxy = false] = await seenBy(pair, {
    clientCa: chain.expired.certificate,
    proxyCa,
  });
  assert.notEqual(isClient, true);
  return isProxy;
};

const byEtcdServer: ClientDoor = async (pair, clientCa) => {
  const { certificate: cert, privateKey: key } = chain.selfSigned;
  const { port } = await etcdServer({ cert, key, clientCa });
  const options = { host: "127.0.0.1", servername: "localhost", port, ca: cert };
  const socket = connectTls({ ...options, ...tlsOf(pair), ALPNProtocols: ["h2"] });
  const isServed = await firstByte(socket);
  socket.destroy();
  return isServed;
};

const clientDoors: Readonly<Record<string, ClientDoor>> = {
  "the API server's and the relay's clients": byListener,
  "the same beside front proxies": byListenerWithProxies,
  "front proxies": byProxyAuthority,
};

describe("a client is known by any certificate of the bundle, and by nothing else", () => {
  const { leaf, selfSigned, root, intermediate, stranger } = chain;
  const known: readonly [string, Pair, string][] = [
    ["its root", leaf, root],
    ["an intermediate authority alone", leaf, intermediate],
    ["its own certificate", leaf, leaf.certificate],
    ["its own certificate, which signed itself", selfSigned, selfSigned.certificate],
  ];
  const unknown: readonly [string, Pair, string][] = [
    ["an authority of the same name", leaf, stranger],
    ["another certificate of the same authority", leaf, chain.forServers.certificate],
    ["its own certificate, after its end", chain.expired, chain.expired.certificate],
    ["its authority, as one for servers", chain.forServers, intermediate],
    ["its authority, as one for something else", chain.forOthers, intermediate],
  ];
  /** OpenSSL finds fault with what they are for; Go does not. */
  const forAny: readonly [string, Pair, string, boolean][] = [
    ["for any purpose, by its root", chain.forAny, root, true],
    ["for any purpose, by its authority", chain.forAny, intermediate, true],
    ["for any purpose, by itself", chain.forAny, chain.forAny.certificate, true],
    ["for any purpose, after its end", chain.forAnyExpired, intermediate, false],
    ["for any purpose, by a stranger", chain.forgedForAny, intermediate, false],
    ["for any purpose, by another authority", chain.forAny, stranger, false],
    ["for any purpose, signed by a leaf", chain.signedByLeaf, root, false],
    ["for any purpose, signed by a leaf in the bundle", chain.signedByLeaf, chain.signer, false],
  ];
  for (const [name, isKnown] of Object.entries({ ...clientDoors, etcd: byEtcdServer })) {
    test(`${name}`, async () => {
      for (const [what, pair, ca] of known) assert.equal(await isKnown(pair, ca), true, what);
      for (const [what, pair, ca] of unknown) assert.equal(await isKnown(pair, ca), false, what);
    });
  }
  for (const [name, isKnown] of Object.entries(clientDoors)) {
    test(`${name}, for any purpose`, async () => {
      for (const [what, pair, ca, expected] of forAny)
        assert.equal(await isKnown(pair, ca), expected, what);
    });
  }
});

test("every file that opens or takes TLS goes by trust.ts", () => {
  const opening =
    /import \{[^}]*\b(connect|createServer|createSecureServer|Agent)\b[^}]*\} from "node:(tls|https|http2)"/;
  const exempt = new Set([
    // The end of what a server shows, trusted or not.
    "src/run/cmd/doctor/run.ts",
    // Options come from http-hosts.ts.
    "src/core/platform/node/http/http2-hosts.ts",
    // A KMS plugin's unix socket, in the clear.
    "src/commit/encryption/kms-client.ts",
    // HTTP/2 inside of a connection that http-client.ts has opened, or the listener has taken.
    "src/run/cmd/coordinator/region-tunnels.ts",
    "src/run/cmd/region/tunnel.ts",
    // A test's own server.
    "src/gate/extension/testing/webhook-server.ts",
  ]);
  const files = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
  assert.ok(files.length > 500);
  const open = files.filter((file) => opening.test(readFileSync(file, "utf8")));
  const without = open.filter(
    (file) => !exempt.has(file) && !readFileSync(file, "utf8").includes("trust.ts"),
  );
  assert.deepEqual(without, []);
});
