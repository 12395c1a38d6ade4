/**
 * A sink to a real Kafka broker: what a consumer rebuilds equals the API's state, every object in order and no
 * event twice, while broker, senders and API server are killed in turn under load; of two senders one writes.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { removeDirectory, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { findKafka, startKafka } from "./kafka-broker.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRole, startRole, until } from "./role-harness.ts";
import { readKafka } from "./sink-consumers.ts";
import { election, namespace, untilEqual, Writers } from "./sink-load.ts";
import type { SinkServer } from "./sink-servers.ts";
import { freePort } from "./stock-apiserver.ts";

const kafka = findKafka();
const skip = "reason" in kafka ? kafka.reason : false;
const jars = "jars" in kafka ? kafka.jars : "";
const secondsOfLoad = 20;
const topic = "k8s.configmaps.default";

void describe("a sink to Kafka", { skip, timeout: 280_000 }, () => {
  const directory = temporaryDirectory("kafka-sink");
  const file = join(directory, "sinks.yaml");
  let plane: Running;
  let broker: SinkServer;
  let port: number;
  const senders: RunningRole[] = [];

  const startPlane = () =>
    startUp(["--data-dir", join(directory, "plane"), "--port", `${port}`, "--nodes", "0"]);
  const startSender = async (args: readonly string[] = election): Promise<RunningRole> => {
    const where = ["--kubeconfig", join(directory, "plane", "kubeconfig"), "--secure-port", "0"];
    const sender = await startRole(["sink", file, ...where, ...args]);
    senders.push(sender);
    return sender;
  };
  const read = async () => (await readKafka(broker.port, topic)).entries;

  before(async () => {
    port = await freePort();
    plane = await startPlane();
    broker = await startKafka(jars, join(directory, "kafka"));
    writeFileSync(
      file,
      `sinks:
  - name: to-kafka
    kafka: {brokers: ["127.0.0.1:${broker.port}"], topic: "k8s.{resource}.{namespace}", partitions: 3}
    resources: [{resource: v1/configmaps, namespace: default, labelSelector: sink=yes}]
`,
    );
  });
  after(async () => {
    await Promise.all(senders.map((sender) => sender.kill()));
    await broker?.kill();
    await plane.stop();
    removeDirectory(directory);
  });

  test("loses and repeats nothing while broker, senders and API server are killed in turn", async () => {
    const writers = new Writers(plane.kubeconfig);
    await startSender();
    await startSender();
    const kills: (() => Promise<void>)[] = [
      async () => {
        await broker.kill();
        await sleep(300);
        await broker.start();
      },
      async () => {
        const [killed] = senders.splice(0, 1);
        await killed?.kill();
        await startSender();
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
      await sleep(2_000);
      await kills[at % kills.length]?.();
    }
    await sleep(1_000);
    await writers.stop();
    const entries = await untilEqual("Kafka", plane.kubeconfig, read);
    const { tombstones } = await readKafka(broker.port, topic);
    assert.equal(tombstones, entries.filter(({ type }) => type === "DELETED").length);
    console.log(`${writers.writes} writes; ${entries.length} events in Kafka; 0 lost, 0 twice`);
    const last = entries.findLast(({ type }) => type === "MODIFIED");
    const event = JSON.parse(last?.data ?? "{}");
    assert.equal(event.specversion, "1.0");
    assert.equal(event.data.metadata.resourceVersion, last?.resourceVersion);
  });

  test("goes on after a restart where it was, and of two senders at once one writes", async () => {
    await Promise.all(senders.splice(0).map((sender) => sender.stop()));
    const http = new KubeHttp(credentialsOf(plane.kubeconfig));
    const put = async (name: string): Promise<void> => {
      const metadata = { name, labels: { sink: "yes" } };
      const object = { metadata, data: { text: name } };
      assert.equal((await http.request("POST", `${namespace}/configmaps`, object)).status, 201);
    };
    const before = (await read()).length;
    await put("while-away");
    const alone = ["--leader-elect=false"];
    const first = await startSender(alone);
    await until("what came meanwhile", async () => (await read()).length > before || undefined);
    // Both write: the opening of each ends the session of the other, and no event lands twice.
    const second = await startSender(alone);
    for (let n = 0; n < 40; n++) {
      await put(`contended-${n}`);
      await sleep(100);
    }
    await until("a word of it", () => {
      const told = first.output() + second.output();
      return Promise.resolve(/another instance writes to this sink/.test(told) || undefined);
    });
    await second.stop();
    await untilEqual("Kafka", plane.kubeconfig, read);
    await first.stop();
    http.close();
  });
});
