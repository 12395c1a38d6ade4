/**
 * Sinks with real servers: what a consumer rebuilds equals the API's state, every object in order and no
 * event twice, while the sinks' servers, the senders and the API server are killed in turn under load.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { findPeer, noPeer } from "./peers.ts";
import { type RunningRole, startRole, until } from "./role-harness.ts";
import { readJetStream, readRedis } from "./sink-consumers.ts";
import { election, namespace, untilEqual, Writers } from "./sink-load.ts";
import { SinkServer } from "./sink-servers.ts";
import { freePort } from "./stock-apiserver.ts";

const secondsOfLoad = 20;

const redisProgram = findPeer("redis-server");
const natsProgram = findPeer("nats-server");
const skip =
  redisProgram === undefined
    ? noPeer("redis-server")
    : natsProgram === undefined
      ? noPeer("nats-server")
      : false;

void describe("sinks to real servers", { skip, timeout: 280_000 }, () => {
  const directory = temporaryDirectory("sinks");
  const file = join(directory, "sinks.yaml");
  let plane: Running;
  let redis: SinkServer;
  let nats: SinkServer;
  let port: number;
  let senders: RunningRole[] = [];

  const startPlane = () =>
    startUp(["--data-dir", join(directory, "plane"), "--port", `${port}`, "--nodes", "0"]);
  const startSender = (args: readonly string[] = election) => {
    const where = ["--kubeconfig", join(directory, "plane", "kubeconfig"), "--secure-port", "0"];
    return startRole(["sink", file, ...where, ...args]);
  };

  before(async () => {
    port = await freePort();
    plane = await startPlane();
    redis = await SinkServer.redis(redisProgram ?? "", join(directory, "redis"));
    nats = await SinkServer.nats(natsProgram ?? "", join(directory, "nats"));
    writeFileSync(
      file,
      `sinks:
  - name: to-redis
    redis: {url: "redis://127.0.0.1:${redis.port}", stream: "k8s:{resource}"}
    resources: [{resource: v1/configmaps, labelSelector: sink=yes}]
  - name: to-nats
    jetstream:
      servers: ["nats://127.0.0.1:${nats.port}"]
      stream: K8S
      subject: "k8s.{resource}.{namespace}.{name}"
    format: json
    resources: [{resource: v1/configmaps, labelSelector: sink=yes}]
`,
    );
  });
  after(async () => {
    await Promise.all(senders.map((sender) => sender.kill()));
    await redis.kill();
    await nats.kill();
    await plane.stop();
    removeDirectory(directory);
  });

  test("lose and repeat nothing while servers, senders and the API server are killed in turn", async () => {
    senders = await Promise.all([startSender(), startSender()]);
    const writers = new Writers(plane.kubeconfig);
    const kills: (() => Promise<void>)[] = [
      async () => {
        await redis.kill();
        await sleep(300);
        await redis.start();
      },
      async () => {
        await nats.kill();
        await sleep(300);
        await nats.start();
      },
      async () => {
        const [killed] = senders.splice(0, 1);
        await killed?.kill();
        senders.push(await startSender());
      },
      async () => {
        await plane.kill();
        plane = await startPlane();
      },
      async () => {
        // Paused until another has taken its lease: what it has under way lands nowhere.
        const [paused] = senders;
        paused?.child.kill("SIGSTOP");
        await sleep(5_000);
        paused?.child.kill("SIGCONT");
      },
    ];
    const endMs = performance.now() + secondsOfLoad * 1000;
    for (let at = 0; performance.now() < endMs || at < kills.length; at++) {
      await sleep(1_500);
      await kills[at % kills.length]?.();
    }
    await sleep(1_000);
    await writers.stop();
    const read = {
      redis: () => readRedis(redis.port, "k8s:configmaps"),
      nats: () => readJetStream(nats.port, "K8S"),
    };
    const inRedis = await untilEqual("Redis", plane.kubeconfig, read.redis);
    const inNats = await untilEqual("JetStream", plane.kubeconfig, read.nats);
    console.log(
      `${writers.writes} writes; ${inRedis.length} entries in Redis, ${inNats.length} in JetStream; 0 lost, 0 twice`,
    );
    const last = inRedis.findLast(({ type }) => type === "MODIFIED");
    const event = JSON.parse(last?.data ?? "{}");
    assert.equal(event.specversion, "1.0");
    assert.equal(event.data.metadata.resourceVersion, last?.resourceVersion);
    const changed = inNats.findLast(({ type }) => type === "MODIFIED");
    assert.equal(JSON.parse(changed?.data ?? "{}").metadata.name, changed?.key.split("/")[1]);
  });
});

interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

void describe("a sink to an HTTP receiver", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("sink-http");
  const received: Received[] = [];
  let refusals = 2;
  let plane: Running;
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const isRefused = refusals-- > 0;
      if (!isRefused) {
        received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      }
      response.writeHead(isRefused ? 503 : 204).end();
    });
  });

  before(async () => {
    plane = await startUp(["--data-dir", join(directory, "plane"), "--port", "0", "--nodes", "0"]);
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    writeFileSync(join(directory, "secret"), "a shared key\n", { mode: 0o600 });
    writeFileSync(
      join(directory, "sinks.yaml"),
      `sinks:
  - name: hook
    http:
      url: "http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events?x=1"
      secretFile: ${join(directory, "secret")}
      positionFile: ${join(directory, "position.json")}
    resources: [{resource: v1/configmaps, labelSelector: sink=yes, fields: {text: .data.text}}]
`,
    );
  });
  after(async () => {
    receiver.close();
    await plane.stop();
    removeDirectory(directory);
  });

  const startSender = () => {
    const where = ["--kubeconfig", plane.kubeconfig, "--secure-port", "0", "--leader-elect=false"];
    return startRole(["sink", join(directory, "sinks.yaml"), ...where]);
  };
  const events = (): readonly Record<string, never>[] =>
    received.flatMap(({ body }) => JSON.parse(body));

  test("signs batches of events, and goes on after a restart where it was", async () => {
    const http = new KubeHttp(credentialsOf(plane.kubeconfig));
    const put = (name: string, text: string) =>
      http.request("POST", `${namespace}/configmaps`, {
        metadata: { name, labels: { sink: "yes" } },
        data: { text },
      });
    await put("a", "first");
    const sender = await startSender();
    await until("a batch", () => Promise.resolve(events().length >= 3 || undefined));
    await sender.stop();
    await put("b", "second");
    const again = await startSender();
    await until("another", () => Promise.resolve(events().length >= 4 || undefined));
    await again.stop();
    http.close();
    const told = events().map(({ type, data }) => [
      type,
      (data as { fields?: { text?: string } } | undefined)?.fields?.text,
    ]);
    assert.deepEqual(told, [
      ["dev.pilothouse.snapshot.begin", undefined],
      ["dev.pilothouse.object.added", "first"],
      ["dev.pilothouse.snapshot.end", undefined],
      ["dev.pilothouse.object.added", "second"],
    ]);
    for (const { headers, body } of received) {
      assert.equal(headers["content-type"], "application/cloudevents-batch+json");
      const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
      const mac = createHmac("sha256", "a shared key").update(signed).digest("base64");
      assert.equal(headers["webhook-signature"], `v1,${mac}`);
    }
  });
});
