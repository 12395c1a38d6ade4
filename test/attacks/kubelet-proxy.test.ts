/**
 * The way to nodes under attack: by clients who may use proxies and exec, and by kubelets, pods and writers
 * of objects who want requests to go elsewhere, memory to grow, or somebody's credentials.
 */
import { metadataPolicy } from "#server/audit/policy.ts";
import { keptAudit } from "#server/audit/testing/kept-audit.ts";
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { gzipSync } from "node:zlib";
import type { ServerResponse } from "node:http";
import { after, before, describe, test, type TestContext } from "node:test";
import { type FakeKubelet, startKubelet } from "../process/kubelet/fake-kubelet.ts";
import {
  allReleased,
  type KubeletPlane,
  makeNode,
  makePod,
  makeServiceAccount,
  must,
  podsPath,
  startKubeletPlane,
} from "../process/kubelet/kubelet-plane.ts";
import { openSpdy } from "../process/kubelet/spdy-client.ts";
import { openWebSocket } from "../process/kubelet/websocket-client.ts";

const services = "/api/v1/namespaces/default/services";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const merge = { "content-type": "application/merge-patch+json" };
const metadataAddress = "169.254.169.254";
const exec = `${podsPath}/one/exec?command=hold&stdin=1&stdout=1`;
const v5 = "v5.channel.k8s.io";

describe("the way to nodes", () => {
  let kubelet: FakeKubelet;
  let web: FakeKubelet;
  let world: KubeletPlane;
  const ports = new Map<string, number>();
  let heard: (stage: string) => void = () => {};
  const { audit, events } = keptAudit(metadataPolicy, ({ stage }) => heard(stage));

  before(async () => {
    kubelet = await startKubelet();
    web = await startKubelet({ plain: true });
    ports.set("10.2.0.1:80", web.port).set("10.2.0.1:8080", web.port);
    const names = { "rebinding.example": ["10.1.0.1", "127.0.0.1"] };
    world = await startKubeletPlane({ authority: kubelet.authority, ports, names, audit });
    await makeServiceAccount(world);
    await makeNode(world, "n1", kubelet.port);
    await makePod(world, "one", "n1");
    await makePod(world, "web", "n1", { ip: "10.2.0.1" });
  });

  after(async () => {
    await world.stop();
    await Promise.all([kubelet.close(), web.close()]);
  });

  /** The head, and all that follows until the connection ends. */
  async function raw(text: string): Promise<string> {
    const socket = world.socket();
    socket.write(text);
    let got = "";
    socket.on("data", (chunk: Buffer) => (got += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    await once(socket, "close");
    return got;
  }

  test("leads to no loopback, link-local, multicast or unspecified address, whatever the objects say", async () => {
    const forbidden = [
      "127.0.0.1",
      "127.9.9.9",
      metadataAddress,
      "0.0.0.0",
      "224.0.0.1",
      "255.255.255.255",
      "::1",
      "::",
      "fe80::1",
      "::ffff:127.0.0.1",
      "::ffff:169.254.169.254",
      "ff02::1",
    ];
    await makePod(world, "mobile", "n1");
    await makeNode(world, "mobile", 10_250, { address: "10.1.0.1" });
    const before = world.reached.length;
    for (const ip of forbidden) {
      const pod = { body: { status: { podIP: ip, podIPs: [{ ip }] } }, headers: merge };
      await world.ask("PATCH", `${podsPath}/mobile/status`, pod);
      const addresses = [{ type: "InternalIP", address: ip }];
      const node = { body: { status: { addresses } }, headers: merge };
      await must(world.ask("PATCH", "/api/v1/nodes/mobile/status", node));
      for (const path of [`${podsPath}/mobile:80/proxy/`, "/api/v1/nodes/mobile:80/proxy/"]) {
        const answer = await world.ask("GET", path);
        assert.deepEqual(
          [answer.status, answer.message],
          [400, "address not allowed"],
          `${ip} ${path}`,
        );
      }
    }
    const addresses = [{ type: "Hostname", address: "rebinding.example" }];
    const node = { body: { status: { addresses } }, headers: merge };
    await must(world.ask("PATCH", "/api/v1/nodes/mobile/status", node));
    const rebinding = await world.ask("GET", "/api/v1/nodes/mobile/proxy/");
    assert.equal(rebinding.message, "address not allowed");
    assert.equal(world.reached.length, before);
  });

  test("of a service leads only to pods of its namespace that have the address", async () => {
    const spec = { ports: [{ port: 80 }] };
    await must(world.ask("POST", services, { body: { metadata: { name: "s" }, spec } }));
    const labels = { "kubernetes.io/service-name": "s" };
    const targetRef = { kind: "Pod", namespace: "default", name: "web" };
    const endpoints = [
      { addresses: ["10.99.0.1"] },
      { addresses: ["10.99.0.2"], targetRef },
      { addresses: ["10.2.0.1"], targetRef: { ...targetRef, namespace: "kube-system" } },
      { addresses: ["10.2.0.1"], targetRef: { ...targetRef, name: "gone" } },
      { addresses: ["10.2.0.1"], targetRef, conditions: { ready: false } },
    ];
    const slice = {
      metadata: { name: "s", labels },
      addressType: "IPv4",
      ports: [{ port: 80 }],
      endpoints,
    };
    await must(world.ask("POST", slices, { body: slice }));
    const before = world.reached.length;
    const answer = await world.ask("GET", `${services}/s/proxy/`);
    assert.deepEqual(
      [answer.status, answer.message],
      [503, 'no endpoints available for service "s"'],
    );
    assert.equal(world.reached.length, before);
  });

  test("takes no address from a name or a path", async () => {
    const before = world.reached.length;
    const names = [
      `${metadataAddress}`,
      `http:${metadataAddress}:80`,
      `web@${metadataAddress}`,
      `web:80@${metadataAddress}`,
      "web:80:90",
      "http:web:80:90",
      "gopher:web:70",
      `web%00.${metadataAddress}`,
      `web%23`,
      `web:80%2f..`,
      `..`,
      `web%0d%0ahost:%20evil`,
    ];
    for (const name of names) {
      for (const base of [podsPath, services, "/api/v1/nodes"]) {
        const answer = await world.ask("GET", `${base}/${name}/proxy/`);
        assert.ok(answer.status >= 400 && answer.status < 600, `${name}: ${answer.status}`);
      }
    }
    assert.equal(world.reached.length, before);
  });

  test("climbs out of no path, however dots and slashes are written", async () => {
    const cases = [
      ["../../secrets", "/secrets"],
      ["%2e%2e/%2e%2e/secrets", "/secrets"],
      ["a%2f..%2f..%2fb", "/b"],
      ["..%2f..%2f", "/"],
      ["//evil.example/x", "/evil.example/x"],
      ["http://evil.example/x", "/http:/evil.example/x"],
      ["a?b%0d%0ax:%20y", "/a?b%0d%0ax:%20y"],
      ["a%0d%0ax:%20y%20HTTP/1.1", "/a%0D%0Ax:%20y%20HTTP/1.1"],
    ] as const;
    for (const [path, expected] of cases) {
      await raw(
        `GET ${podsPath}/web/proxy/${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      );
      assert.equal(web.asked.at(-1)?.url, expected);
      assert.equal(web.asked.at(-1)?.headers["x"], undefined);
    }
  });

  test("gives nobody the credentials of the client", async () => {
    const headers = {
      authorization: "Bearer secret",
      "proxy-authorization": "Basic c2VjcmV0",
      "impersonate-user": "admin",
      "impersonate-group": "system:masters",
      "impersonate-extra-a": "secret",
      "x-remote-user": "admin",
      "x-remote-group": "system:masters",
      "x-remote-extra-a": "secret",
      "sec-websocket-protocol": "base64url.bearer.authorization.k8s.io.c2VjcmV0",
    };
    const granted = await world.ask("GET", `${podsPath}/web/proxy/`, { headers });
    const asked = web.asked.at(-1);
    assert.equal(granted.status, 200, granted.text);
    assert.ok(!JSON.stringify(asked?.headers).includes("secret"), JSON.stringify(asked?.headers));
    const names = Object.keys(asked?.headers ?? {});
    assert.deepEqual(
      names.filter((name) => /authorization|impersonate|remote|websocket/.test(name)),
      [],
    );
    const lines = [
      "impersonate-user: admin",
      "impersonate-group: system:masters",
      "x-remote-user: root",
    ];
    const client = await openSpdy(world.socket(), exec, "v4.channel.k8s.io", lines);
    client.close();
    await client.closed;
    const leaked = Object.keys(kubelet.asked.at(-1)?.headers ?? {});
    assert.deepEqual(
      leaked.filter((name) => /authorization|impersonate|remote/.test(name)),
      [],
    );
    await allReleased(world);
  });

  test("turns no body into a second request, and no Connection header into a missing one", async () => {
    const smuggled = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
    const chunked = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
    for (const method of ["GET", "DELETE", "OPTIONS", "POST"]) {
      const before = web.asked.length;
      await raw(
        `${method} ${podsPath}/web/proxy/front HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${chunked}`,
      );
      assert.deepEqual(
        web.asked.slice(before).map(({ url }) => url),
        ["/front"],
        method,
      );
      assert.equal(web.asked.at(-1)?.body(), smuggled);
    }
    const listed = "connection: close, x-forwarded-for, content-length, host";
    await raw(
      `POST ${podsPath}/web/proxy/listed HTTP/1.1\r\nhost: x\r\n${listed}\r\ncontent-length: 2\r\n\r\nhi`,
    );
    assert.equal(web.asked.at(-1)?.body(), "hi");
  });

  test("that asks to switch protocols gets a body through to nobody, and nothing before the switch", async () => {
    const before = kubelet.asked.length;
    const head = `POST ${exec} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, close\r\nupgrade: SPDY/3.1\r\n`;
    const answer = await raw(`${head}content-length: 5\r\n\r\nhello`);
    assert.match(answer, /^HTTP\/1.1 400 [\s\S]*Upgrade request required/);
    assert.equal(kubelet.asked.length, before);
    // A kubelet that answers 200 to an upgrade does not get to answer as the server.
    kubelet.upgrade = (_message, socket) =>
      void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");
    const refused = await raw(`${head}content-length: 0\r\n\r\n`);
    assert.match(refused, /^HTTP\/1.1 500 [\s\S]*invalid upgrade response: status code 200/);
    assert.ok(!refused.includes("evil\r\n") && !refused.endsWith("evil"));
    kubelet.upgrade = undefined;
    // Nor does a pod that switches unasked.
    web.answer = (message) =>
      void message.socket.write(
        "HTTP/1.1 101 Switching\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n",
      );
    const unasked = await world.ask("GET", `${podsPath}/web/proxy/`);
    assert.equal(unasked.status, 503);
    web.answer = undefined;
    await allReleased(world);
  });

  test("breaks no head by a header of a pod, however long, strange or contradictory", async () => {
    const heads = [
      `x: ${"y".repeat(70_000)}`,
      Array.from({ length: 3_000 }, (_, index) => `x-${index}: ${"y".repeat(30)}`).join("\r\n"),
      "x y: z",
      "x: a\0b",
      "content-length: 5\r\ncontent-length: 6",
      "content-length: 5\r\ntransfer-encoding: chunked",
    ];
    for (const head of heads) {
      web.answer = (message) => void message.socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\nhello`);
      const answer = await world.ask("GET", `${podsPath}/web/proxy/`);
      assert.equal(answer.status, 503, `${head.slice(0, 40)}: ${answer.text.slice(0, 200)}`);
      assert.match(answer.message, /^error trying to reach service: /);
    }
    web.answer = (message) =>
      void message.socket.end("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhello");
    await assert.rejects(world.ask("GET", `${podsPath}/web/proxy/`), /aborted|hang up|ECONNRESET/);
    web.answer = undefined;
    await allReleased(world);
  });

  test("holds nothing of a page that never ends, nor of one that inflates without end", async (t) => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, "<a href=/x>"));
    web.answer = (_message, response) => {
      response.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" });
      response.end(bomb);
    };
    const socket = world.socket();
    t.after(() => {
      web.answer = undefined;
      socket.destroy();
    });
    socket.write(`GET ${podsPath}/web/proxy/ HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(socket, "data");
    socket.pause();
    const before = held();
    for (let round = 0; round < 300; round++) await must(world.ask("GET", "/version"));
    // Half of the page: garbage of the 300 requests counts too.
    const grown = held() - before;
    assert.ok(grown < 32 * 1024 * 1024, `grew by ${grown}`);
    socket.destroy();
    await allReleased(world);
    // A tag that does not end passes as it is, once it is too long to be one.
    web.answer = (_message, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(`<a href=/x ${"y".repeat(200_000)}`);
    };
    const page = await world.ask("GET", `${podsPath}/web/proxy/`);
    assert.equal(page.text.length, 200_011);
    web.answer = (_message, response) => {
      response.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" });
      response.end("no gzip");
    };
    await assert.rejects(world.ask("GET", `${podsPath}/web/proxy/`), /aborted|hang up|ECONNRESET/);
    web.answer = undefined;
    await allReleased(world);
  });

  test("tells of an exec when it begins and when it is over", async () => {
    events.length = 0;
    const isOver = new Promise<void>((resolve) => {
      heard = (stage) => (stage === "ResponseComplete" ? resolve() : undefined);
    });
    const peer = await openWebSocket(world.socket(), exec, v5);
    const told = events.map(({ stage, objectRef, responseStatus, user }) => [
      stage,
      objectRef?.["subresource"],
      responseStatus?.code,
      user.username,
    ]);
    assert.deepEqual(told, [["ResponseStarted", "exec", 101, "kubernetes-admin"]]);
    peer.raw(Uint8Array.of(0x82, 0x01, 0x00));
    await peer.closed;
    await allReleased(world);
    await isOver;
    assert.deepEqual(
      events.map(({ stage }) => stage),
      ["ResponseStarted", "ResponseComplete"],
    );
  });

  test("closes a WebSocket whose client breaks the protocol, and the kubelet's end with it", async () => {
    const broken: readonly Uint8Array[] = [
      Uint8Array.of(0x82, 0x01, 0x00),
      Uint8Array.of(0xf2, 0x80, 0, 0, 0, 0),
      Uint8Array.of(0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0),
      Uint8Array.of(0x82, 0x82, 0, 0, 0, 0, 255, 77),
    ];
    for (const bytes of broken) {
      const peer = await openWebSocket(world.socket(), exec, v5);
      await peer.until((messages) => messages.length > 1);
      peer.raw(bytes);
      await peer.closed;
      assert.equal(peer.closeCode(), 1002);
    }
    await allReleased(world);
  });

  test("outlives a kubelet that lies in SPDY or in its Status", async () => {
    const lies: readonly (readonly [Uint8Array, RegExp])[] = [
      [Uint8Array.of(0x80, 9, 0, 1, 0, 0, 0, 0), /another version/],
      [Uint8Array.of(0x80, 3, 0, 1, 0, 0, 0, 10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0), /opened a stream/],
      [
        Buffer.concat([Uint8Array.of(0, 0, 0, 1, 0, 1, 0x86, 0xa0), Buffer.alloc(100_000, "x")]),
        /too long/,
      ],
      [statusFrames("[]"), /unknown error/],
      [
        statusFrames('{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":7}}'),
        /no ExitCode/,
      ],
      [statusFrames("nonsense"), /no Status/],
    ];
    for (const [bytes, expected] of lies) {
      kubelet.upgrade = (_message, socket) => {
        const head =
          "connection: Upgrade\r\nupgrade: SPDY/3.1\r\nx-stream-protocol-version: v4.channel.k8s.io";
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${head}\r\n\r\n`);
        socket.write(bytes);
      };
      const target = `${podsPath}/one/exec?command=x`;
      const peer = await openWebSocket(world.socket(), target, v5);
      await peer.closed;
      assert.match(String(peer.messages().at(-1)), expected);
    }
    kubelet.upgrade = undefined;
    await allReleased(world);
  });

  test("lets go of a kubelet when its client leaves before the switch", async () => {
    let asked: () => void = () => {};
    const arrived = new Promise<void>((resolve) => (asked = resolve));
    let held: Duplex | undefined;
    kubelet.upgrade = (_message, socket) => {
      held = socket;
      asked();
    };
    const socket = world.socket();
    socket.write(
      `POST ${exec} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n\r\n`,
    );
    await arrived;
    socket.destroy();
    if (held !== undefined && !held.destroyed) await once(held, "close");
    kubelet.upgrade = undefined;
    await allReleased(world);
  });
});

/** Bytes on the heap and outside of it. */
function held(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

/** On the error stream, which is the first: 1. */
function statusFrames(text: string): Uint8Array {
  return Buffer.concat([Uint8Array.of(0, 0, 0, 1, 1, 0, 0, text.length), Buffer.from(text)]);
}

test("more open requests than the limits get 429, and places come back", async (t) => {
  const kubelet = await startKubelet();
  const other = await startKubelet();
  const limits = { openMax: 5, openPerHostMax: 3 };
  const world = await startKubeletPlane({ limits });
  t.after(async () => {
    await world.stop();
    await Promise.all([kubelet.close(), other.close()]);
  });
  await makeServiceAccount(world);
  await makeNode(world, "n1", kubelet.port);
  await makeNode(world, "n2", other.port);
  await makePod(world, "one", "n1");
  await makePod(world, "two", "n2");
  const hold = (name: string): ReturnType<typeof openWebSocket> =>
    openWebSocket(world.socket(), `${podsPath}/${name}/exec?command=hold&stdout=1`, v5);
  const open = await Promise.all([hold("one"), hold("one"), hold("one")]);
  const full = await world.ask("GET", `${podsPath}/one/log`);
  assert.deepEqual([full.status, full.headers["retry-after"]], [429, "1"]);
  assert.equal(full.message, `too many requests to 127.0.0.1:${kubelet.port} are open`);
  open.push(await hold("two"), await hold("two"));
  const all = await world.ask("GET", `${podsPath}/two/log`);
  assert.equal(all.message, "too many requests to nodes, pods and services are open");
  for (const peer of open) peer.destroy();
  await Promise.all(open.map((peer) => peer.closed));
  await allReleased(world);
  assert.equal((await world.ask("GET", `${podsPath}/one/log`)).status, 200);
});

interface Crowded {
  readonly kubelet: FakeKubelet;
  readonly world: KubeletPlane;
}

async function crowded(t: TestContext): Promise<Crowded> {
  const kubelet = await startKubelet();
  const world = await startKubeletPlane();
  t.after(async () => {
    await world.stop();
    await kubelet.close();
  });
  await makeServiceAccount(world);
  await makeNode(world, "n1", kubelet.port);
  await makePod(world, "one", "n1");
  return { kubelet, world };
}

function follow({ world }: Crowded): Duplex {
  const socket = world.socket();
  socket.on("error", () => {});
  socket.write(`GET ${podsPath}/one/log?follow=true HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}

test("of a log without end, a client that does not read holds its sockets' buffers, and nothing more", async (t) => {
  const crowd = await crowded(t);
  const { kubelet, world } = crowd;
  const block = Buffer.alloc(65_536, "x");
  let offered = 0;
  kubelet.answer = (_message, response) => {
    response.writeHead(200);
    const more = (): void => {
      do offered += block.length;
      while (!response.destroyed && response.write(block));
    };
    response.on("drain", more);
    more();
  };
  const followers = Array.from({ length: 4 }, () => follow(crowd));
  await Promise.all(followers.map((socket) => once(socket, "readable")));
  // The kubelet writes until nobody takes more: many answers later not a byte more was taken.
  const bytesMax = 128 * 1024 * 1024;
  for (let still = 0; still < 50 && offered < bytesMax;) {
    const before = offered;
    await must(world.ask("GET", `${podsPath}/one`));
    still = offered === before ? still + 1 : 0;
  }
  assert.ok(offered < bytesMax, `${offered} bytes were taken for clients that read none`);
  // A client that reads again gets what follows.
  const [first] = followers;
  for (let read = 0; read < 16 * 1024 * 1024;) read += await nextLength(first);
  for (const socket of followers) socket.destroy();
  await allReleased(world);
});

test("200 followers of logs and 50 execs get each line, in flat memory, and others are answered meanwhile", async (t) => {
  const crowd = await crowded(t);
  const { kubelet, world } = crowd;
  const logs = new Set<ServerResponse>();
  kubelet.answer = (_message, response) => {
    response.writeHead(200);
    response.write("begin\n");
    logs.add(response);
  };
  await latencies(world, 100, () => {});
  const alone = await latencies(world, 100, () => {});
  const followers = Array.from({ length: 200 }, () => follow(crowd));
  const texts = followers.map(() => "");
  followers.forEach((socket, index) =>
    socket.on("data", (chunk: Buffer) => (texts[index] += chunk.toString("latin1"))),
  );
  const peers = await Promise.all(
    Array.from({ length: 50 }, () => openWebSocket(world.socket(), exec, v5)),
  );
  await Promise.all(peers.map((peer) => peer.until((messages) => messages.length > 1)));
  while (logs.size < 200) await world.ask("GET", "/version");
  assert.equal(world.streams.open, 250);
  const rss = process.memoryUsage().rss;
  const line = (round: number): void => {
    for (const response of logs) response.write(`line ${round}\n`);
    for (const stream of kubelet.held) stream.write(Buffer.from(`line ${round}\n`));
  };
  const together = await latencies(world, 100, line);
  const grown = (process.memoryUsage().rss - rss) / 2 ** 20;
  const all = (text: string): boolean => text.includes("line 99\n");
  while (!texts.every(all)) await world.ask("GET", "/version");
  await Promise.all(peers.map((peer) => peer.until((got) => all(String(got.at(-1))))));
  t.diagnostic(`p99 of a read: ${alone} ms alone, ${together} ms behind 250 lines each`);
  t.diagnostic(`${grown.toFixed(1)} MiB more after 25,000 lines`);
  assert.ok(grown < 64, `grew by ${grown} MiB`);
  for (const socket of followers) socket.destroy();
  for (const peer of peers) peer.destroy();
  await allReleased(world);
});

/** The 99th percentile of `count` reads in milliseconds, each begun after a call of `each`. */
async function latencies(
  world: KubeletPlane,
  count: number,
  each: (round: number) => void,
): Promise<string> {
  const taken: number[] = [];
  for (let round = 0; round < count; round++) {
    each(round);
    const begin = performance.now();
    await must(world.ask("GET", `${podsPath}/one`));
    taken.push(performance.now() - begin);
  }
  taken.sort((a, b) => a - b);
  return (taken[Math.floor(count * 0.99)] ?? 0).toFixed(1);
}

async function nextLength(socket: Duplex | undefined): Promise<number> {
  assert.ok(socket !== undefined);
  const chunk = socket.read() as Buffer | null; // of a socket
  if (chunk !== null) return chunk.length;
  await once(socket, "readable");
  return 0;
}
