/**
 * `pilothouse sink replay` with real servers: the same events come again, the state between marks; while an instance
 * runs, of another file's sink, and from revisions that are not there, it refuses and moves nothing.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  pilothouse,
  removeDirectory,
  type Running,
  startUp,
  temporaryDirectory,
} from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { findPeer, noPeer } from "./peers.ts";
import { startRole, until } from "./role-harness.ts";
import { type Entry, readJetStream, readRedis } from "./sink-consumers.ts";
import { election, namespace } from "./sink-load.ts";
import { SinkServer } from "./sink-servers.ts";

const redisProgram = findPeer("redis-server");
const natsProgram = findPeer("nats-server");
const skip =
  redisProgram === undefined
    ? noPeer("redis-server")
    : natsProgram === undefined
      ? noPeer("nats-server")
      : false;
const objects = 20;

void describe("a replay into real servers", { skip, timeout: 200_000 }, () => {
  const directory = temporaryDirectory("sink-replay");
  const file = join(directory, "sinks.yaml");
  const otherFile = join(directory, "other.yaml");
  let plane: Running;
  let redis: SinkServer;
  let nats: SinkServer;
  let admin: KubeHttp;
  let from = "";

  const replay = (...args: readonly string[]) =>
    pilothouse(["sink", "replay", file, "--kubeconfig", plane.kubeconfig, ...election, ...args]);
  const readers = [
    () => readRedis(redis.port, "k8s:configmaps"),
    () => readJetStream(nats.port, "K8S"),
  ];
  const startSender = () => {
    const where = ["--kubeconfig", plane.kubeconfig, "--secure-port", "0"];
    return startRole(["sink", file, ...where, ...election]);
  };
  const untilRead = async (last: string): Promise<void> => {
    for (const read of readers) {
      await until(`${last} is read`, async () =>
        (await read()).some(({ key }) => key === `default/${last}`) ? true : undefined,
      );
    }
  };
  const create = async (name: string): Promise<string> => {
    const object = { metadata: { name, labels: { sink: "yes" } } };
    const { status, body } = await admin.request("POST", `${namespace}/configmaps`, object);
    assert.equal(status, 201);
    return String(body["metadata"]?.["resourceVersion"]);
  };

  before(async () => {
    plane = await startUp(["--data-dir", join(directory, "plane"), "--port", "0", "--nodes", "0"]);
    redis = await SinkServer.redis(redisProgram ?? "", join(directory, "redis"));
    nats = await SinkServer.nats(natsProgram ?? "", join(directory, "nats"));
    admin = new KubeHttp(credentialsOf(plane.kubeconfig));
    const sinks = (resource: string): string => `sinks:
  - name: to-redis
    redis: {url: "redis://127.0.0.1:${redis.port}", stream: "k8s:{resource}"}
    resources: [{resource: ${resource}, labelSelector: sink=yes}]
  - name: to-nats
    jetstream: {servers: ["nats://127.0.0.1:${nats.port}"], stream: K8S, subject: "k8s.{resource}.{namespace}.{name}"}
    resources: [{resource: ${resource}, labelSelector: sink=yes}]
`;
    writeFileSync(file, sinks("v1/configmaps"));
    writeFileSync(otherFile, sinks("v1/secrets"));
  });
  after(async () => {
    admin.close();
    await redis.kill();
    await nats.kill();
    await plane.stop();
    removeDirectory(directory);
  });

  test("refuses while an instance runs, with its name", async () => {
    const sender = await startSender();
    try {
      from = await create("first");
      await untilRead("first");
      for (let i = 0; i < objects; i++) await create(`c${i}`);
      await untilRead(`c${objects - 1}`);
      const { code, stderr } = replay("--all");
      assert.equal(code, 1);
      assert.match(stderr, /\S+_[0-9a-f-]{36} holds Lease kube-system\/pilothouse-sink and runs/);
    } finally {
      assert.equal(await sender.stop(), 0);
    }
  });

  test("sends the events again with their ids, then the state between marks", async () => {
    const ids = (entries: readonly Entry[]) =>
      entries
        .filter(({ key }) => key.startsWith("default/c"))
        .map(({ type, id }) => `${type} ${id}`);
    const first = await Promise.all(readers.map((read) => read()));
    const { code, stdout, stderr } = replay("--from-revision", from);
    assert.equal(code, 0, stderr);
    for (const name of ["to-redis", "to-nats"]) {
      assert.match(stdout, new RegExp(`sink ${name}: complete: ${objects} added, 0 modified`));
    }
    for (const [at, read] of readers.entries()) {
      const entries = (await read()).slice(first[at]?.length);
      assert.deepEqual(ids(entries), ids(first[at] ?? []));
    }
    const second = await Promise.all(readers.map((read) => read()));
    assert.equal(replay("--all", "--sink", "to-redis").code, 0);
    const state = (await readers[0]?.())?.slice(second[0]?.length) ?? [];
    assert.equal(state.length, objects + 3);
    assert.match(state[0]?.data ?? "", /snapshot\.begin/);
    assert.match(state.at(-1)?.data ?? "", /snapshot\.end/);
    assert.equal((await readers[1]?.())?.length, second[1]?.length);
  });

  test("refuses other revisions, and a sink of another file with the same name", async () => {
    const lengths = () => Promise.all(readers.map(async (read) => (await read()).length));
    const before = await lengths();
    const other = ["sink", "replay", otherFile, "--kubeconfig", plane.kubeconfig, ...election];
    const refused: readonly (readonly [ReturnType<typeof replay>, RegExp])[] = [
      [replay("--from-revision", "0"), /whole number from 1/],
      [replay("--from-revision", "-5"), /whole number from 1/],
      [replay("--from-revision", "1e3"), /whole number from 1/],
      [replay("--from-revision", "999999999"), /revision 999999999 is not there yet: .* is at \d+/],
      [replay("--from-revision", from, "--until", "999999999"), /999999999 is not there yet/],
      [replay("--from-revision", from, "--until", from), /must be a later revision/],
      [replay("--from-revision", from, "--all"), /one of --from-revision and --all/],
      [replay(), /one of --from-revision and --all/],
      [replay("--all", "--sink", "none"), /has no sink none/],
      [
        pilothouse([...other, "--all", "--sink", "to-redis"]),
        /nothing of v1\/secrets.* was written/,
      ],
      [
        pilothouse([...other, "--from-revision", from, "--sink", "to-redis"]),
        /nothing of v1\/secrets/,
      ],
    ];
    for (const [{ code, stderr }, why] of refused) {
      assert.equal(code, 1, stderr);
      assert.match(stderr, why);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
    assert.deepEqual(await lengths(), before);
  });
});
