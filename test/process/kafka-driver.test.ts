/**
 * The promises of a sink's driver (src/crowd/sinks/sink-driver.ts, D1 - D3), held by the driver of Kafka at a real
 * broker: over plain TCP, and over TLS with SASL as a user that has the documented rights and no others.
 */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Kafka, logLevel } from "kafkajs";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "#auth/pki.ts";
import type { KubeObject } from "#api/object.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { KafkaDriver } from "#sinks/drivers/kafka.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { parseRoute } from "#sinks/route-template.ts";
import { Sink } from "#sinks/sink.ts";
import { SinkMetrics } from "#sinks/sink-metrics.ts";
import { SinkConfigError, SinkFencedError, type SinkRecord } from "#sinks/sink-driver.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findKafka, startKafka } from "./kafka-broker.ts";
import { until } from "./role-harness.ts";
import { readKafka } from "./sink-consumers.ts";
import type { SinkServer } from "./sink-servers.ts";
import { freePort } from "./stock-apiserver.ts";

const found = findKafka();
const skip = "reason" in found ? found.reason : false;
const jars = "jars" in found ? found.jars : "";
const password = "alice's secret";
const dayMs = 24 * 3600 * 1000;
const validity = { notBeforeMs: Date.now() - dayMs, notAfterMs: Date.now() + dayMs };
const issue = () => ({ validity, serial: randomBytes(16) });
const authority = makeAuthority("kafka", issue());
const stranger = makeAuthority("stranger", issue());
const server = makeServerCertificate(authority, "kafka.test", ["kafka.test"], issue());
const client = makeClientCertificate(authority, { commonName: "a", organizations: [] }, issue());

let versions = 0;
function record(name: string, given: Partial<SinkRecord> = {}): SinkRecord {
  const resourceVersion = String(++versions);
  return {
    type: "ADDED",
    source: "v1/pods",
    position: resourceVersion,
    key: name === "" ? "" : `shop/${name}`,
    uid: `uid-${name}`,
    resourceVersion,
    id: `uid-${name}/${resourceVersion}`,
    route: "",
    value: new TextEncoder().encode(name),
    ...given,
  };
}

void describe("the driver of Kafka", { skip, timeout: 200_000 }, () => {
  const directory = temporaryDirectory("kafka-driver");
  const { signal } = new AbortController();
  let broker: SinkServer;
  let securePort: number;

  before(async () => {
    securePort = await freePort();
    const file = (name: string, text: string): string => {
      writeFileSync(join(directory, name), text, { mode: 0o600 });
      return join(directory, name);
    };
    const keys = file("keys.pem", server.privateKey + server.certificate);
    const scram = (bits: number): string[] => [
      "--add-scram",
      `SCRAM-SHA-${bits}=[name=alice,password=${password}]`,
    ];
    const login = (kind: string): string => `org.apache.kafka.common.security.${kind} required`;
    broker = await startKafka(jars, join(directory, "kafka"), {
      securePort,
      format: [...scram(256), ...scram(512)],
      properties: [
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:ANONYMOUS",
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        ...["256", "512"].map(
          (bits) =>
            `listener.name.secure.scram-sha-${bits}.sasl.jaas.config=${login("scram.ScramLoginModule")};`,
        ),
        `listener.name.secure.plain.sasl.jaas.config=${login("plain.PlainLoginModule")} user_alice="${password}";`,
        ...["keystore", "truststore"].map((store) => `ssl.${store}.type=PEM`),
        `ssl.keystore.location=${keys}`,
        `ssl.truststore.location=${file("ca.pem", authority.certificate)}`,
        "ssl.client.auth=required",
      ],
    });
  });
  after(async () => {
    await broker?.kill();
    removeDirectory(directory);
  });

  const raw = () =>
    new Kafka({ brokers: [`127.0.0.1:${broker.port}`], logLevel: logLevel.NOTHING });
  const driver = (
    name: string,
    given: Partial<ConstructorParameters<typeof KafkaDriver>[1]> = {},
  ) =>
    new KafkaDriver(
      { clock: new NodeClock(), random: new NodeRandom() },
      {
        brokers: [`127.0.0.1:${broker.port}`],
        tls: undefined,
        sasl: undefined,
        stateTopic: `state.${name}`,
        made: { partitions: 3, replicas: 1, compact: false },
        contentType: "text/plain",
        tombstones: true,
        gzip: false,
        ...given,
      },
    );
  const read = async (topic: string): Promise<readonly string[]> =>
    (await readKafka(broker.port, topic)).entries.map(
      ({ type, key, data }) => `${type} ${key} ${data}`,
    );

  test("D1, D2: batches land in order with their positions, and what a session knows is what landed", async () => {
    const route = "events.order";
    const first = await driver("order").open(["v1/pods", "v1/nodes"], signal);
    assert.deepEqual([...first.positions], []);
    const nodes = { route, source: "v1/nodes" };
    const batches = [
      [record("", { route, type: "SNAPSHOT_BEGIN", value: undefined, position: "begun" })],
      Array.from({ length: 50 }, (_, n) => record(`p${n}`, { route })),
      [record("n", { ...nodes, key: "n", position: "7.2" })],
      [record("p1", { route, type: "MODIFIED" }), record("p2", { route, type: "DELETED" })],
      [record("", { route, type: "POSITION", value: undefined, position: "99" })],
    ];
    const landed: number[] = [];
    const appended = batches.map(async (records, at) => {
      await first.append(records);
      landed.push(at);
    });
    await Promise.all(appended);
    assert.deepEqual(landed, [0, 1, 2, 3, 4]);
    await first.close();
    const second = await driver("order").open(["v1/pods", "v1/nodes"], signal);
    assert.deepEqual(
      new Map(second.positions),
      new Map([
        ["v1/pods", "99"],
        ["v1/nodes", "7.2"],
      ]),
    );
    const known = await second.known("v1/pods");
    assert.equal(known?.size, 49);
    const changed = batches[3]?.[0]?.resourceVersion ?? "";
    assert.deepEqual(known?.get("shop/p1"), { uid: "uid-p1", resourceVersion: changed });
    assert.deepEqual([...((await second.known("v1/nodes")) ?? new Map()).keys()], ["n"]);
    await second.close();
    const entries = await read(route);
    // A mark in each of three partitions; 50 and 1 objects; a change and a deletion.
    assert.equal(entries.length, 3 + 50 + 1 + 2);
    assert.deepEqual(entries.filter((entry) => / shop\/p[12] /.test(entry)).toSorted(), [
      "ADDED shop/p1 p1",
      "ADDED shop/p2 p2",
      "DELETED shop/p2 p2",
      "MODIFIED shop/p1 p1",
    ]);
  });

  test("D3: an earlier session is refused, and what it did not commit is not there", async () => {
    const route = "events.fenced";
    const first = await driver("fenced").open(["v1/pods"], signal);
    await first.append([record("a", { route })]);
    const second = await driver("fenced", { gzip: true }).open(["v1/pods"], signal);
    await assert.rejects(first.append([record("lost", { route })]), SinkFencedError);
    await assert.rejects(first.append([record("lost too", { route })]), SinkFencedError);
    await second.append([record("b", { route })]);
    await first.close();
    await second.close();
    assert.deepEqual((await read(route)).toSorted(), ["ADDED shop/a a", "ADDED shop/b b"]);
  });

  test("a sender that died within a transaction leaves nothing of it", async () => {
    const route = "events.died";
    const session = await driver("died").open(["v1/pods"], signal);
    await session.append([record("a", { route, position: "5" })]);
    await session.close();
    const producer = raw().producer({ transactionalId: "state.died", idempotent: true });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic: route, messages: [{ key: "shop/ghost", value: "ghost" }] });
    const position = { key: "position/v1%2Fpods", value: "6" };
    await transaction.send({ topic: "state.died", messages: [position] });
    // No commit: as if it had been killed here. Its connection goes away later.
    const again = await driver("died").open(["v1/pods"], signal);
    assert.equal(again.positions.get("v1/pods"), "5");
    await again.append([record("b", { route })]);
    await again.close();
    await assert.rejects(transaction.commit());
    await producer.disconnect();
    assert.deepEqual((await read(route)).toSorted(), ["ADDED shop/a a", "ADDED shop/b b"]);
  });

  test("a session that ends while it writes leaves no connection behind", async () => {
    const sockets = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind.startsWith("TCP")).length;
    const before = sockets();
    const session = await driver("ended").open(["v1/pods"], signal);
    const appended = session.append([record("a", { route: "events.ended" })]);
    await Promise.all([assert.rejects(appended), session.close()]);
    await until("their end", () => Promise.resolve(sockets() <= before || undefined));
  });

  test("a state of several partitions, or one that Kafka would forget, is refused", async () => {
    const admin = raw().admin();
    await admin.connect();
    const forgotten = { name: "cleanup.policy", value: "delete" };
    const topics = [
      { topic: "state.wide", numPartitions: 2 },
      { topic: "state.forgotten", numPartitions: 1, configEntries: [forgotten] },
    ];
    await admin.createTopics({ topics });
    await admin.disconnect();
    const refused = (told: RegExp) => (error: unknown) =>
      error instanceof SinkConfigError && told.test(error.message);
    await assert.rejects(driver("wide").open([], signal), refused(/has 2 partitions/));
    await assert.rejects(driver("forgotten").open([], signal), refused(/cleanup\.policy=delete/));
  });

  test("what vanished while the history was compacted is told as deleted, and nothing comes twice", async () => {
    const clock = new NodeClock();
    const api = createFakeApi({ clock });
    const ref = { group: "", version: "v1", resource: "configmaps" };
    const put = (name: string, text: string): void => {
      const metadata = { namespace: "shop", name, uid: `uid-${name}` };
      api.put(ref, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } } as KubeObject);
    };
    const start = () => {
      const metrics = new SinkMetrics(new MetricSet(), () => clock.monotonicMs());
      const deps = { client: api, clock, random: new NodeRandom(), log: silentLog, metrics };
      const encoding = {
        format: "json",
        source: "",
        ref,
        kind: "ConfigMap",
        fields: undefined,
      } as const;
      const route = parseRoute("gap.{resource}", /[A-Za-z0-9-]/, "_");
      const sources = [{ name: "v1/configmaps", encoding, route, selection: {} }];
      const stopping = new AbortController();
      const running = new Sink(deps, { name: "gap", sources, driver: driver("gap") }).run(
        stopping.signal,
      );
      return async (): Promise<void> => {
        stopping.abort();
        api.cutWatches();
        await running;
      };
    };
    const told = async () =>
      (await readKafka(broker.port, "gap.configmaps")).entries
        .filter(({ key }) => key !== "")
        .map(({ type, key }) => `${type} ${key}`)
        .toSorted();
    for (const name of ["kept", "changed", "vanished"]) put(name, "1");
    const stop = start();
    const added = ["ADDED shop/changed", "ADDED shop/kept", "ADDED shop/vanished"];
    await until("the first state", async () => ((await told()).length >= 3 ? true : undefined));
    await stop();
    put("changed", "2");
    put("new", "1");
    api.drop(ref, "shop", "vanished");
    api.compact();
    const stopAgain = start();
    await until("the difference", async () => ((await told()).length >= 6 ? true : undefined));
    await stopAgain();
    const difference = ["ADDED shop/new", "DELETED shop/vanished", "MODIFIED shop/changed"];
    assert.deepEqual(await told(), [...added, ...difference].toSorted());
  });

  const secured = (
    mechanism: "plain" | "scram-sha-256" | "scram-sha-512",
    { word = password, ca = authority.certificate, servername = "kafka.test" } = {},
  ) => ({
    brokers: [`127.0.0.1:${securePort}`],
    tls: () => ({ ca, servername, cert: client.certificate, key: client.privateKey }),
    sasl: () => ({ mechanism, username: "alice", password: word }),
  });

  test("over TLS and SASL, with the documented rights and none besides", async () => {
    const route = "secured.pods";
    const open = () => driver("alice", secured("scram-sha-512")).open(["v1/pods"], signal);
    await assert.rejects(open(), (error) => error instanceof SinkConfigError);
    const admin = raw().admin();
    await admin.connect();
    // Numbers of the protocol; the library exports their names to its types alone.
    const [TOPIC, GROUP, TRANSACTIONAL_ID] = [2, 3, 5];
    const [READ, WRITE, CREATE] = [3, 4, 5];
    const rights = [
      [TOPIC, "secured.", [WRITE, CREATE]],
      [TOPIC, "state.alice", [READ, WRITE, CREATE]],
      [GROUP, "state.alice", [READ]],
      [TRANSACTIONAL_ID, "state.alice", [WRITE]],
    ] as const;
    await admin.createAcls({
      acl: rights.flatMap(([resourceType, resourceName, operations]) =>
        operations.map((operation) => ({
          resourceType,
          resourceName,
          resourcePatternType: 4,
          principal: "User:alice",
          host: "*",
          operation,
          permissionType: 3,
        })),
      ),
    });
    await admin.disconnect();
    const session = await open();
    await session.append([record("a", { route })]);
    await assert.rejects(session.append([record("b", { route: "others.pods" })]), SinkConfigError);
    await session.close();
    for (const mechanism of ["plain", "scram-sha-256"] as const) {
      const other = await driver("alice", secured(mechanism)).open(["v1/pods"], signal);
      assert.equal(other.positions.size, 1, mechanism);
      await other.close();
    }
    assert.deepEqual(await read(route), ["ADDED shop/a a"]);
  });

  test("a wrong password, a broker of another authority and one of another name are told apart", async () => {
    const cases = [
      [secured("scram-sha-512", { word: "wrong" }), /authentication failed|invalid credentials/i],
      [secured("scram-sha-512", { ca: stranger.certificate }), /certificate/i],
      [secured("scram-sha-512", { servername: "other.test" }), /does not match|altnames/i],
    ] as const;
    for (const [given, told] of cases) {
      const failure = await driver(`t${randomUUID()}`, given)
        .open([], signal)
        .then(
          () => "",
          (error: unknown) => String(error),
        );
      assert.match(failure, told);
      assert.doesNotMatch(failure, /wrong"|alice's secret/);
    }
  });
});
