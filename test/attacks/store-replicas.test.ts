/** Replicas of a store: flags that would open a door, hostile calls at a follower, calls while nobody holds the log. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GrpcError } from "#wire/grpc.ts";
import { replicaPrefix } from "#etcd/holder-link.ts";
import { SharedLog, startReplica, type TestReplica } from "#etcd/testing/replicas.ts";
import { pilothouse } from "../process/harness.ts";

const started: TestReplica[] = [];

after(() => Promise.all(started.map((one) => one.kill())));

async function start(count: number): Promise<readonly TestReplica[]> {
  const log = new SharedLog();
  const replicas: TestReplica[] = [];
  for (let i = 0; i < count; i++) replicas.push(await startReplica(log));
  started.push(...replicas);
  const isSettled = (): boolean =>
    replicas.some(({ role }) => role.isOwner) && replicas.every(({ role }) => role.holder !== "");
  while (!isSettled()) await pause(5);
  return replicas;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const cluster = ["--engine", "etcd", "--etcd-servers", "http://127.0.0.1:1"];
const refusedFlags: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
  "no cluster": [["--engine", "etcd"], /name it with --etcd-servers/],
  "a log that is not kept": [[...cluster, "--memory"], /--memory keeps no log/],
  "flags of the other engine": [["--etcd-servers", "http://127.0.0.1:1"], /go with --engine etcd/],
  "a cluster in the clear, elsewhere": [
    ["--engine", "etcd", "--etcd-servers", "http://192.0.2.1:2379"],
    /would cross a network in the clear/,
  ],
  "no slash at the prefix's end": [
    [...cluster, "--etcd-prefix", "/pilothouse"],
    /must begin and end with a slash/,
  ],
  "the whole key space as prefix": [
    [...cluster, "--etcd-prefix", "/"],
    /must begin and end with a slash/,
  ],
  "a line break in the prefix": [
    [...cluster, "--etcd-prefix", "/a\nb/"],
    /must begin and end with a slash/,
  ],
  "a space in the replica's URL": [
    [...cluster, "--replica-url", "http://a b"],
    /must be a URL that begins with http:/,
  ],
  "a replica's URL that is not what it serves": [
    [...cluster, "--replica-url", "https://127.0.0.1:1"],
    /must be a URL that begins with http:/,
  ],
  "half of a certificate for replicas": [
    [...cluster, "--replica-cert", "a.crt"],
    /--replica-cert and --replica-key go together/,
  ],
  "no address that others could reach": [
    [...cluster, "--listen", "127.0.0.1:0"],
    /say so with --replica-url/,
  ],
};

for (const [name, [flags, text]] of Object.entries(refusedFlags)) {
  test(`refused: ${name}`, () => {
    const { code, stdout, stderr } = pilothouse(["store", ...flags]);
    assert.equal(code, 1, stderr);
    assert.match(stdout + stderr, text);
  });
}

test("what a follower sends on is judged at the holder: malformed calls get its errors, and it goes on", async () => {
  const replicas = await start(2);
  const follower = replicas.find(({ role }) => !role.isOwner) as TestReplica;
  const paths = ["/etcdserverpb.KV/Put", "/etcdserverpb.KV/Txn", "/etcdserverpb.Lease/LeaseGrant"];
  for (const path of paths) {
    const malformed = Buffer.concat([Buffer.alloc(5), Buffer.from([0x0a, 0xff, 0xff])]);
    await assert.rejects(follower.client.forward(path, malformed), (error: GrpcError) => {
      assert.match(error.message, /error unmarshalling request/);
      return true;
    });
  }
  await assert.rejects(follower.client.put({ key: "" }), /key is not provided/);
  const tooLarge = new Uint8Array(1.6 * 2 ** 20);
  await assert.rejects(follower.client.put({ key: "a", value: tooLarge }), /too large|larger than/);
  await follower.client.put({ key: "a", value: new Uint8Array(1) });
});

test("a follower's address is no way to have calls sent round and round", async () => {
  const replicas = await start(3);
  const [one, two] = replicas.filter(({ role }) => !role.isOwner) as [TestReplica, TestReplica];
  const path = `${replicaPrefix}${replicaPrefix}/etcdserverpb.KV/Put`;
  await assert.rejects(one.client.forward(path, Buffer.alloc(5)), /unknown/);
  await assert.rejects(
    two.client.forward(`${replicaPrefix}/etcdserverpb.KV/Put`, Buffer.alloc(5)),
    /no leader/,
  );
});

test("without a holder a thousand writes wait a bounded time, and reads of old state go on", async () => {
  const replicas = await start(2);
  const { owner, follower } = split(replicas);
  await follower.client.put({ key: "a", value: new Uint8Array(1) });
  await follower.client.range({ key: "a" });
  // Neither of them reaches the log any more: nobody can take it over.
  follower.cut.isCut = true;
  await owner.kill();
  const startMs = performance.now();
  const writes = Array.from({ length: 1000 }, () =>
    follower.client.put({ key: "b", value: new Uint8Array(100) }).then(
      () => "answered",
      (error: Error) => error.message,
    ),
  );
  const read = await follower.client.range({ key: "a", serializable: true });
  assert.equal(read.kvs.length, 1);
  const answers = new Set(await Promise.all(writes));
  assert.deepEqual(
    [...answers].filter((one) => !one.startsWith("etcdserver: ")),
    [],
  );
  assert.ok(performance.now() - startMs < 15_000, "the writes were refused in time");
});

function split(replicas: readonly TestReplica[]): { owner: TestReplica; follower: TestReplica } {
  const owner = replicas.find(({ role }) => role.isOwner) as TestReplica;
  const follower = replicas.find(({ role }) => !role.isOwner) as TestReplica;
  return { owner, follower };
}
