/**
 * Sinks against hostile names, receivers that misbehave, servers that are set up otherwise, and missing rights:
 * one sink waits and says why; the others go on.
 */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createClient } from "@redis/client";
import { JetStreamDriver } from "#sinks/drivers/jetstream.ts";
import {
  pilothouse,
  removeDirectory,
  type Running,
  startUp,
  temporaryDirectory,
} from "../process/harness.ts";
import { findKafka, startKafka } from "../process/kafka-broker.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import { type RunningRole, startRole, until } from "../process/role-harness.ts";
import { readJetStream, readKafka, stateOf } from "../process/sink-consumers.ts";
import { SinkServer } from "../process/sink-servers.ts";

const redisProgram = findPeer("redis-server");
const natsProgram = findPeer("nats-server");
const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

const kafka = findKafka();
const noKafka = "reason" in kafka ? kafka.reason : false;
const hostileNames = [
  "attack:a.b.>",
  "attack:*",
  "attack:ø 漢",
  "attack:a\tb",
  "attack:{name}",
  "attack:_",
];

/** Answers as told; keeps what it got. */
class Receiver {
  readonly bodies: string[] = [];
  answer: (response: ServerResponse) => void = (response) => void response.writeHead(204).end();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.bodies.push(Buffer.concat(chunks).toString());
        this.answer(response);
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

void describe("sinks under attack", { timeout: 240_000 }, () => {
  const directory = temporaryDirectory("attack-sinks");
  const file = join(directory, "sinks.yaml");
  const good = new Receiver();
  const bad = new Receiver();
  const running: RunningRole[] = [];
  let urls: { readonly good: string; readonly bad: string };
  let plane: Running;
  let http: KubeHttp;

  before(async () => {
    plane = await startUp(["--data-dir", join(directory, "plane"), "--port", "0", "--nodes", "0"]);
    http = new KubeHttp(credentialsOf(plane.kubeconfig));
    urls = { good: await good.listen(), bad: await bad.listen() };
  });
  after(async () => {
    await Promise.all(running.map((role) => role.kill()));
    http.close();
    good.close();
    bad.close();
    await plane.stop();
    removeDirectory(directory);
  });

  async function startSinks(text: string, kubeconfig = plane.kubeconfig): Promise<RunningRole> {
    writeFileSync(file, text);
    const flags = ["--leader-elect=false", "--secure-port=0", "--kubeconfig", kubeconfig];
    const role = await startRole(["sink", file, ...flags]);
    running.push(role);
    return role;
  }

  /** They stay for the tests behind. */
  async function createRoles(): Promise<void> {
    const apiVersion = "rbac.authorization.k8s.io/v1";
    for (const name of hostileNames) {
      const role = { apiVersion, kind: "ClusterRole", metadata: { name }, rules: [] };
      const { status } = await http.request("POST", roles, role);
      assert.ok(status === 201 || status === 409, `${name}: ${status}`);
    }
  }

  const position = (name: string): string => join(directory, `${name}.json`);
  const hook = (name: string, url: string, resource: string): string =>
    `  - name: ${name}\n    http: {url: "${url}", positionFile: "${position(name)}"}\n    resources: [{resource: ${resource}}]\n`;

  test("a receiver that refuses, redirects, never answers or answers without end holds nobody else up", async () => {
    const away: readonly ((response: ServerResponse) => void)[] = [
      (response) => void response.writeHead(500).end("no"),
      (response) => void response.writeHead(302, { location: urls.good }).end(),
      (response) => void response.writeHead(503).write("x".repeat(200_000)),
      (response) => void response.destroy(),
      () => undefined,
    ];
    bad.answer = (response) => away[(bad.bodies.length - 1) % away.length]?.(response);
    const resource = "v1/namespaces";
    const sinks = hook("bad", urls.bad, resource) + hook("good", urls.good, resource);
    const role = await startSinks(`sinks:\n${sinks}`);
    await until("the other sink's snapshot", () =>
      Promise.resolve(good.bodies.some((body) => body.includes("snapshot.end")) || undefined),
    );
    await until("several tries", () => Promise.resolve(bad.bodies.length >= 4 || undefined));
    // Nothing was noted as written, and a redirect was not followed.
    assert.throws(() => statSync(position("bad")), /ENOENT/);
    assert.equal(statSync(position("good")).mode & 0o777, 0o600);
    bad.answer = (response) => void response.writeHead(204).end();
    await role.kill();
  });

  test("a position file of another sink is refused, and so is a file of anything else", async () => {
    for (const text of ['{"sink":"other","positions":{}}', "not JSON", "[]"]) {
      writeFileSync(position("mine"), text);
      writeFileSync(file, `sinks:\n${hook("mine", urls.good, "v1/namespaces")}`);
      const flags = ["--leader-elect=false", "--secure-port=0", "--kubeconfig", plane.kubeconfig];
      const { code, stderr } = pilothouse(["sink", file, ...flags]);
      assert.equal(code, 1);
      assert.match(stderr, /sink mine: the position file is not one of sink mine: name another/);
      assert.equal(readFileSync(position("mine"), "utf8"), text);
    }
  });

  test("a sink without the right to read waits, says so, and sends nothing", async () => {
    const before = good.bodies.length;
    const kubeconfig = join(directory, "nobody");
    const text = readFileSync(plane.kubeconfig, "utf8")
      .replace(/^ *client-(certificate|key)-data:.*$/gm, "")
      .replace(/user:\s*$/m, "user:\n    token: not-a-token");
    writeFileSync(kubeconfig, text, { mode: 0o600 });
    const role = await startSinks(`sinks:\n${hook("denied", urls.good, "v1/secrets")}`, kubeconfig);
    await until("a word of it", () =>
      Promise.resolve(/Unauthorized|Forbidden|forbidden/.test(role.output()) || undefined),
    );
    assert.equal(good.bodies.length, before);
    assert.ok(!role.output().includes("not-a-token"));
    await role.kill();
  });

  const noRedis = redisProgram === undefined ? noPeer("redis-server") : false;
  test("Redis with another password, and keys of another kind", { skip: noRedis }, async () => {
    const redis = await SinkServer.redis(redisProgram ?? "", join(directory, "redis"));
    const client = createClient({ url: `redis://127.0.0.1:${redis.port}` });
    await client.connect();
    await client.set("taken", "by somebody else");
    await client.configSet("requirepass", "the right one");
    writeFileSync(join(directory, "password"), "a wrong secret\n");
    const target = (stream: string): string =>
      `{url: "redis://127.0.0.1:${redis.port}", stream: ${stream}, passwordFile: "${join(directory, "password")}"}`;
    const sink = (stream: string): string =>
      `sinks:\n  - name: r\n    redis: ${target(stream)}\n    resources: [{resource: v1/namespaces}]\n`;
    const denied = await startSinks(sink("free"));
    await until("a word of it", () =>
      Promise.resolve(/WRONGPASS|NOAUTH/.test(denied.output()) || undefined),
    );
    assert.ok(!denied.output().includes("a wrong secret"));
    await denied.kill();
    writeFileSync(join(directory, "password"), "the right one\n");
    writeFileSync(file, sink("taken"));
    const flags = ["--leader-elect=false", "--secure-port=0", "--kubeconfig", plane.kubeconfig];
    const { code, stderr } = pilothouse(["sink", file, ...flags]);
    assert.equal(code, 1);
    assert.match(stderr, /sink r: WRONGTYPE/);
    assert.equal(await client.get("taken"), "by somebody else");
    client.destroy();
    await redis.kill();
  });

  const noNats = natsProgram === undefined ? noPeer("nats-server") : false;
  test(
    "names that are wildcards, separators or header lines stay names",
    { skip: noNats },
    async () => {
      const nats = await SinkServer.nats(natsProgram ?? "", join(directory, "nats"));
      await createRoles();
      const role = await startSinks(`sinks:
  - name: hostile
    jetstream: {servers: ["nats://127.0.0.1:${nats.port}"], stream: HOSTILE, subject: "k8s.{resource}.{name}"}
    resources: [{resource: rbac.authorization.k8s.io/v1/clusterroles}]
`);
      const read = () => readJetStream(nats.port, "HOSTILE").catch(() => []);
      const all = await until("the snapshot", async () => {
        const entries = await read();
        return entries.some(({ type }) => type === "SNAPSHOT_END") ? entries : undefined;
      });
      const keys = new Set(stateOf(all).keys());
      for (const name of hostileNames) assert.ok(keys.has(name), name);
      await role.kill();
      await nats.kill();
    },
  );

  test(
    "what an aggregated server says of an object is no header line",
    { skip: noNats },
    async () => {
      const nats = await SinkServer.nats(natsProgram ?? "", join(directory, "nats-lines"));
      const driver = new JetStreamDriver({
        servers: [`nats://127.0.0.1:${nats.port}`],
        credentials: undefined,
        ca: undefined,
        sink: "lines",
        stream: "LINES",
        subjects: "lines.*",
        markSubject: "lines._",
        subjectPerObject: true,
        keepPerSubject: undefined,
        contentType: "text/plain",
      });
      const line = "1\r\nNats-Rollup: all\r\nPilothouse-Type: DELETED";
      const known = { uid: line, resourceVersion: line };
      const { signal } = new AbortController();
      const session = await driver.open(["v1/pods"], signal);
      const told = { type: "ADDED", source: "v1/pods", position: line, route: "lines.a" } as const;
      const value = new TextEncoder().encode("{}");
      await session.append([{ ...told, ...known, key: line, id: `${line}/${line}`, value }]);
      await session.close();
      const again = await driver.open(["v1/pods"], signal);
      assert.deepEqual([...again.positions], [["v1/pods", line]]);
      assert.deepEqual([...((await again.known("v1/pods")) ?? [])], [[line, known]]);
      await again.close();
      await nats.kill();
    },
  );

  test(
    "Kafka: such names are keys; a topic is what the template says",
    { skip: noKafka },
    async () => {
      const jars = "jars" in kafka ? kafka.jars : "";
      const broker = await startKafka(jars, join(directory, "kafka"));
      await createRoles();
      const role = await startSinks(`sinks:
  - name: hostile
    kafka: {brokers: ["127.0.0.1:${broker.port}"], topic: "k8s.{group}.{resource}", replicas: 1}
    resources: [{resource: rbac.authorization.k8s.io/v1/clusterroles}]
`);
      const topic = "k8s.rbac_2Eauthorization_2Ek8s_2Eio.clusterroles";
      const all = await until("the snapshot", async () => {
        const { entries } = await readKafka(broker.port, topic);
        return entries.some(({ type }) => type === "SNAPSHOT_END") ? entries : undefined;
      });
      const keys = new Set(stateOf(all).keys());
      for (const name of hostileNames) assert.ok(keys.has(name), name);
      await role.kill();
      await broker.kill();
    },
  );

  test("a Kafka that hangs up, stammers, or never answers holds nobody else up, and ends nothing", async () => {
    const ways: readonly ((socket: Socket) => void)[] = [
      (socket) => socket.destroy(),
      (socket) => void socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
      // An answer of 2 GiB to a question that nobody asked.
      (socket) => void socket.write(Buffer.from("7fffffff00000063", "hex")),
      (socket) => void socket.write(Buffer.from("0000000400000001ffffffff", "hex")),
      () => undefined,
    ];
    const calls = ways.map(() => 0);
    const brokers = ways.map((way, at) =>
      createTcpServer((socket) => {
        calls[at] = (calls[at] ?? 0) + 1;
        socket.on("error", () => undefined);
        way(socket);
      }),
    );
    const sinks = await Promise.all(
      brokers.map(async (broker, at) => {
        await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
        const { port } = broker.address() as AddressInfo;
        return `  - name: away-${at}\n    kafka: {brokers: ["127.0.0.1:${port}"], topic: t}\n    resources: [{resource: v1/namespaces}]\n`;
      }),
    );
    good.bodies.length = 0;
    const beside = hook("beside", urls.good, "v1/namespaces");
    const role = await startSinks(`sinks:\n${sinks.join("")}${beside}`);
    await until("the other sink's snapshot", () =>
      Promise.resolve(good.bodies.some((body) => body.includes("snapshot.end")) || undefined),
    );
    await until("a second try of each", () =>
      Promise.resolve(calls.every((count) => count > 1) || undefined),
    );
    await until("a word of it", () =>
      Promise.resolve(/a sink begins again/.test(role.output()) || undefined),
    );
    assert.equal(role.child.exitCode, null);
    await role.kill();
    for (const broker of brokers) broker.close();
  });
});
