/**
 * `pilothouse migrate` as a process: a data directory into an etcd and that into another data directory. Nothing is lost
 * or changed on the way, no resourceVersion comes again, and what cannot be moved whole is not begun.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startEtcd, startOurs, type TestServer } from "#etcd/testing/servers.ts";
import {
  type CommandResult,
  pilothouse,
  removeDirectory,
  root,
  startUp,
  temporaryDirectory,
} from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { findPeer, noPeer } from "./peers.ts";

interface Dumped {
  readonly key: string;
  readonly value: string;
  readonly modRevision: number;
  readonly lease?: string;
}

const etcdProgram = findPeer("etcd");
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "parts.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "parts", singular: "part", kind: "Part", listKind: "PartList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};

for (const [name, start, skip] of [
  ["our own etcd", () => startOurs("memory"), false],
  [
    "a real etcd",
    () => startEtcd(etcdProgram ?? ""),
    etcdProgram === undefined ? noPeer("etcd") : false,
  ],
] as const) {
  void describe(`pilothouse migrate and ${name}`, { skip, timeout: 180_000 }, () => {
    const directory = temporaryDirectory("migrate");
    const [first, second] = [join(directory, "first"), join(directory, "second")];
    let etcd: TestServer;
    let client: EtcdClient;
    let source: readonly Dumped[];

    before(async () => {
      etcd = await start();
      client = new EtcdClient(etcd.url);
      await fill(first);
      source = dump(first);
    });
    after(async () => {
      client?.close();
      await etcd?.close();
      removeDirectory(directory);
    });
    const toEtcd = () => migrate("--from-data-dir", first, "--to-etcd", etcd.url);
    const fromEtcd = (target: string) => migrate("--from-etcd", etcd.url, "--to-data-dir", target);
    const newest = (): number => Math.max(...source.map(({ modRevision }) => modRevision));

    it("moves every object there, above every revision it had", async () => {
      const { code, stdout, stderr } = await toEtcd();
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`${source.length} objects were written`));
      const { kvs } = await client.range({ key: "/registry/", rangeEnd: "/registry0" });
      assert.equal(kvs.length, source.length);
      for (const { key, modRevision } of kvs) assert.ok(modRevision > newest(), key);
    });

    it("and back into another directory: the same values, the etcd's revisions, leases with what they had left", async () => {
      const { code, stderr } = await fromEtcd(second);
      assert.equal(code, 0, stderr);
      const moved = dump(second);
      assert.deepEqual(moved.map(valueOf), source.map(valueOf));
      const { kvs } = await client.range({ key: "/registry/", rangeEnd: "/registry0" });
      assert.deepEqual(
        moved.map(({ modRevision }) => modRevision).toSorted(),
        kvs.map(({ modRevision }) => modRevision).toSorted(),
      );
      const leased = ({ lease }: Dumped): boolean => lease !== undefined;
      assert.ok(source.filter(leased).length > 0, "events end");
      assert.deepEqual(
        moved.filter(leased).map(({ key }) => key),
        source.filter(leased).map(({ key }) => key),
      );
    });

    it("starts from there, and its objects are served", async () => {
      const plane = await startUp(["--data-dir", second, "--port", "0", "--nodes", "0"]);
      const http = new KubeHttp(credentialsOf(plane.kubeconfig));
      const part = await http.request("GET", "/apis/example.com/v1/namespaces/default/parts/one");
      assert.equal(part.body["metadata"]?.["name"], "one", JSON.stringify(part.body));
      http.close();
      await plane.stop();
    });

    it("is run again after it was cut off, and writes what is missing", async () => {
      await client.deleteRange({
        key: "/registry/clusterroles/",
        rangeEnd: "/registry/clusterroles0",
      });
      const roles = source.filter(({ key }) => key.includes("/clusterroles/")).length;
      const { code, stdout, stderr } = await toEtcd();
      assert.equal(code, 0, stderr);
      const alike = source.length - roles;
      assert.match(
        stdout,
        new RegExp(`${roles} objects were written.*${alike} were there already`),
      );
    });

    it("writes nothing where something else is", async () => {
      const key = "/registry/configmaps/default/kept";
      const { header } = await client.put({ key, value: Buffer.from("{}") });
      await client.deleteRange({ key: "/registry/secrets/default/secret" });
      const { code, stderr } = await toEtcd();
      assert.equal(code, 1);
      assert.match(
        stderr,
        /holds 1 objects that are not in the source, or differ from it, the first .*kept/,
      );
      const { kvs } = await client.range({ key: "/registry/secrets/default/secret" });
      assert.equal(kvs.length, 0);
      const seen = await client.range({ key });
      assert.equal(seen.kvs[0]?.modRevision, header?.revision);
    });

    it("moves encrypted objects, and nothing of them is in the clear on either side", async () => {
      const file = join(directory, "encryption.json");
      const secret = Buffer.alloc(32, 5).toString("base64");
      const aesgcm = { keys: [{ name: "k", secret }] };
      writeFileSync(
        file,
        JSON.stringify({
          apiVersion: "apiserver.config.k8s.io/v1",
          kind: "EncryptionConfiguration",
          resources: [{ resources: ["*.*"], providers: [{ aesgcm }, { identity: {} }] }],
        }),
      );
      const sealed = join(directory, "sealed");
      const flag = ["--encryption-provider-config", file];
      const config = ["--etcd-prefix", "/sealed", ...flag];
      const to = ["--to-etcd", etcd.url, ...config];
      const moved = await migrate("--from-data-dir", second, ...to);
      assert.equal(moved.code, 0, moved.stderr);
      const again = await migrate("--from-data-dir", second, ...to);
      assert.match(again.stdout, /^0 objects were written/m);
      const { kvs } = await client.range({ key: "/sealed/", rangeEnd: "/sealed0" });
      assert.ok(kvs.length > 0);
      for (const { value } of kvs)
        assert.match(Buffer.from(value).toString("latin1"), /^k8s:enc:aesgcm:v1:k:/);
      const back = await migrate("--from-etcd", etcd.url, "--to-data-dir", sealed, ...config);
      assert.equal(back.code, 0, back.stderr);
      const plain = await migrate(
        "--from-data-dir",
        sealed,
        "--to-etcd",
        etcd.url,
        "--etcd-prefix",
        "/plain",
      );
      assert.equal(plain.code, 1);
      assert.match(
        plain.stderr,
        /is encrypted at rest: --encryption-provider-config names the keys/,
      );
    });

    it("leaves no store behind when an object cannot be read, or is encrypted", async () => {
      const key = "/registry/configmaps/default/kept";
      const third = join(directory, "third");
      for (const [value, text] of [
        ["k8s\0nonsense", /1 objects cannot be read, so nothing was moved: \/registry\/configmaps/],
        ["k8s:enc:aescbc:v1:key1:x", /is encrypted at rest/],
      ] as const) {
        await client.put({ key, value: Buffer.from(value) });
        const { code, stderr } = await fromEtcd(third);
        assert.equal(code, 1);
        assert.match(stderr, text);
        assert.ok(!existsSync(join(third, "store")));
      }
    });
  });
}

void describe("pilothouse migrate refuses", () => {
  const directory = temporaryDirectory("migrate-refused");
  after(() => removeDirectory(directory));

  it("flags that say no way, or two", async () => {
    for (const args of [
      [],
      ["--from-etcd", "http://127.0.0.1:1"],
      ["--from-etcd", "http://127.0.0.1:1", "--to-etcd", "http://127.0.0.1:2"],
      ["--from-data-dir", directory, "--to-data-dir", join(directory, "x")],
    ]) {
      const { code, stderr } = await migrate(...args);
      assert.equal(code, 1, args.join(" "));
      assert.match(stderr, /give --from-etcd and --to-data-dir, or --from-data-dir and --to-etcd/);
    }
  });

  it("an etcd in the clear beyond loopback, one that is away, and a directory that is not there", async () => {
    const target = join(directory, "target");
    for (const [args, text] of [
      [["--from-etcd", "http://10.1.2.3:2379", "--to-data-dir", target], /in the clear: use https/],
      [
        ["--from-etcd", "http://127.0.0.1:1", "--to-data-dir", target],
        /etcd at http:\/\/127.0.0.1:1: the connection broke/,
      ],
      [
        ["--from-data-dir", join(directory, "none"), "--to-etcd", "http://127.0.0.1:1"],
        /no data directory/,
      ],
    ] as const) {
      const { code, stderr } = await migrate(...args);
      assert.equal(code, 1);
      assert.match(stderr, text);
    }
  });

  it("a directory that a process holds, and one that has a store", async () => {
    const held = join(directory, "held");
    const plane = await startUp(["--data-dir", held, "--port", "0", "--nodes", "0"]);
    const taken = await migrate("--from-data-dir", held, "--to-etcd", "http://127.0.0.1:1");
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /in use|held|locked/);
    await plane.stop();
    const used = await migrate("--from-etcd", "http://127.0.0.1:1", "--to-data-dir", held);
    assert.equal(used.code, 1);
    assert.match(used.stderr, /has a store already: give a new directory/);
  });
});

void describe("pilothouse migrate of some resources", { timeout: 180_000 }, () => {
  const directory = temporaryDirectory("migrate-some");
  const moved = ["/events", "coordination.k8s.io/*"];
  const servers: TestServer[] = [];
  const clients: EtcdClient[] = [];
  const move = (resources: readonly string[]) => {
    const [from, to] = servers.map(({ url }) => url) as [string, string];
    return migrate("--from-etcd", from, "--to-etcd", to, "--resources", resources.join(","));
  };
  const stored = async (client: EtcdClient, folder: string) => {
    const key = `/registry/${folder}/`;
    const { kvs, header } = await client.range({ key, rangeEnd: `/registry/${folder}0` });
    const objects = kvs.map(({ key: name, value }) => [name, Buffer.from(value).toString("hex")]);
    return { objects, withLease: kvs.filter(({ lease }) => lease !== 0n).length, header };
  };

  before(async () => {
    const data = join(directory, "data");
    await fill(data);
    for (let at = 0; at < 2; at++) servers.push(await startOurs("memory"));
    clients.push(...servers.map(({ url }) => new EtcdClient(url)));
    await migrate("--from-data-dir", data, "--to-etcd", servers[0]?.url ?? "");
  });
  after(async () => {
    for (const client of clients) client.close();
    for (const server of servers) await server.close();
    removeDirectory(directory);
  });

  it("writes them alone, unchanged, above every revision they had", async () => {
    const { code, stdout, stderr } = await move(moved);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /--etcd-servers-overrides '\/events#http:\S+,coordination\.k8s\.io\/\*#/);
    const [from, to] = clients as [EtcdClient, EtcdClient];
    for (const folder of ["events", "leases"]) {
      const [before, now] = [await stored(from, folder), await stored(to, folder)];
      assert.ok(before.objects.length > 0, folder);
      assert.deepEqual(now.objects, before.objects);
      assert.equal(now.withLease, before.withLease, "events still end");
      assert.ok((now.header?.revision ?? 0) > (before.header?.revision ?? Infinity));
    }
    for (const folder of ["configmaps", "minions", "example.com"])
      assert.deepEqual((await stored(to, folder)).objects, []);
  });

  it("is begun again where it was cut off", async () => {
    const { code, stdout } = await move(moved);
    assert.equal(code, 0);
    assert.match(stdout, /^0 objects were written, .* were there already/m);
  });

  for (const wrong of ["events", "/nothing", "apiregistration.k8s.io/apiservices", "/a#b"])
    it(`refuses ${wrong}, in a sentence`, async () => {
      const { code, stderr } = await move([wrong]);
      assert.equal(code, 1);
      assert.match(stderr, /^pilothouse: --resources .*\n$/);
    });
});

/** Not by `pilothouse`, which would hold the etcd that runs in this process. */
function migrate(...args: readonly string[]): Promise<CommandResult> {
  const launcher = join(root, "bin", "pilothouse.mjs");
  return new Promise((resolve) => {
    execFile(process.execPath, [launcher, "migrate", ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** Objects of built-in and custom kinds, and events, which end. */
async function fill(dataDir: string): Promise<void> {
  const plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "2"]);
  const http = new KubeHttp(credentialsOf(plane.kubeconfig));
  const core = "/api/v1/namespaces/default";
  const metadata = { name: "kept" };
  const data = { text: "\u00e9\u4e16", long: "x".repeat(300_000) };
  await created(http, `${core}/configmaps`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata,
    data,
  });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "secret" },
    data: { a: "AAE=" },
  };
  await created(http, `${core}/secrets`, secret);
  await created(http, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  const parts = "/apis/example.com/v1/namespaces/default/parts";
  const part = {
    apiVersion: "example.com/v1",
    kind: "Part",
    metadata: { name: "one" },
    spec: { big: 1 },
  };
  const deadline = performance.now() + 10_000;
  while ((await http.request("POST", parts, part)).status !== 201)
    assert.ok(performance.now() < deadline, "the definition is served");
  http.close();
  await plane.stop();
}

async function created(http: KubeHttp, path: string, object: unknown): Promise<void> {
  const { status, body } = await http.request("POST", path, object);
  assert.equal(status, 201, JSON.stringify(body));
}

function dump(dataDir: string): readonly Dumped[] {
  const { stdout } = pilothouse(["store", "dump", join(dataDir, "store")]);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Dumped);
}

/** A key, and its object without regard to the order of fields. */
function valueOf({ key, value }: Dumped): readonly unknown[] {
  return [key, JSON.parse(value)];
}
