/**
 * API servers whose resources live in two etcd clusters (`--etcd-servers-overrides`): two of ours, and one of ours
 * beside a stock kube-apiserver.
 */
import assert from "node:assert/strict";
import { get, type RequestOptions } from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { findPeer, noPeer, noStock, stockPrograms } from "./peers.ts";
import { type RunningRole, startRole, until } from "./role-harness.ts";
import { startApiServer, type StockApiServer } from "./stock-apiserver.ts";

const etcdProgram = findPeer("etcd");
const stockProgram = stockPrograms()?.apiserver;
const inDefault = "/api/v1/namespaces/default";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

/** What a test asks of either kind of server. */
interface Asked {
  request(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: object }>;
}

interface Stored {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly spec?: { readonly ports?: readonly { readonly nodePort?: number }[] };
}

interface StoredList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly Stored[];
}

const bodies = {
  configmaps: (name: string) => ({ metadata: { name }, data: { name } }),
  events: (name: string) => ({
    metadata: { name },
    involvedObject: { kind: "Pod", namespace: "default", name: "p" },
    reason: "Said",
    message: name,
    type: "Normal",
  }),
  leases: (name: string) => ({ metadata: { name }, spec: { holderIdentity: name } }),
  services: (name: string) => ({
    metadata: { name },
    spec: { type: "NodePort", selector: { a: "b" }, ports: [{ port: 80 }] },
  }),
};

type Kind = keyof typeof bodies;

function pathOf(kind: Kind): string {
  return kind === "leases" ? leases : `${inDefault}/${kind}`;
}

async function create(server: Asked, kind: Kind, name: string): Promise<Stored> {
  const answer = await server.request("POST", pathOf(kind), bodies[kind](name));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body as Stored; // it was created
}

async function statusOf(server: Asked, method: string, path: string): Promise<number> {
  return (await server.request(method, path)).status;
}

function textOf(url: string, options: RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get(url, options, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      answer.on("end", () => resolve(text));
    });
    asked.on("error", reject);
  });
}

/** Names of keys below a prefix. */
async function keysOf(url: string, prefix: string): Promise<readonly string[]> {
  const client = new EtcdClient(url);
  const { kvs } = await client.range({ key: prefix, rangeEnd: `${prefix.slice(0, -1)}0` });
  client.close();
  return kvs.map(({ key }) => key.slice(prefix.length));
}

void describe(
  "API servers whose resources live in two etcd clusters",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 240_000 },
  () => {
    const directory = temporaryDirectory("etcd-overrides");
    const running: RunningRole[] = [];
    const connections: KubeHttp[] = [];
    let rest: TestServer;
    let other: TestServer;
    let isOtherClosed = false;
    let overrides: readonly string[];

    function storageFlags(): readonly string[] {
      return [`--etcd-servers=${rest.url}`, `--etcd-servers-overrides=${overrides.join(",")}`];
    }

    async function start(name: string): Promise<KubeHttp> {
      const data = join(directory, name);
      const args = ["apiserver", "--data-dir", data, "--secure-port", "0", ...storageFlags()];
      running.push(await startRole(args));
      const connection = new KubeHttp(credentialsOf(join(data, "kubeconfig")));
      connections.push(connection);
      return connection;
    }

    let a: KubeHttp;
    let b: KubeHttp;
    before(async () => {
      rest = await startEtcd(etcdProgram ?? "");
      other = await startEtcd(etcdProgram ?? "");
      const names = ["/events", "coordination.k8s.io/*", "/services"];
      overrides = names.map((name) => `${name}#${other.url}`);
      a = await start("a");
      b = await start("b");
    });
    after(async () => {
      for (const connection of connections) connection.close();
      await Promise.allSettled(running.map((role) => role.kill()));
      await rest?.close();
      if (!isOtherClosed) await other?.close();
      removeDirectory(directory);
    });

    it("keep each resource in its own cluster, under kube-apiserver's keys", async () => {
      for (const kind of ["configmaps", "events", "leases"] as const) await create(a, kind, "kept");
      const folders = ["configmaps", "events", "leases"];
      for (const folder of folders) {
        const key = `/registry/${folder}/default/`;
        const isElsewhere = folder !== "configmaps";
        assert.deepEqual(await keysOf(other.url, key), isElsewhere ? ["kept"] : [], folder);
        assert.equal((await keysOf(rest.url, key)).includes("kept"), !isElsewhere, folder);
      }
      assert.deepEqual(await keysOf(other.url, "/registry/ranges/"), ["servicenodeports"]);
      assert.deepEqual(await keysOf(rest.url, "/registry/ranges/"), []);
    });

    it("read what the other wrote, whichever cluster it is in", async () => {
      for (let at = 0; at < 20; at++) {
        for (const kind of ["configmaps", "leases"] as const) {
          const made = await create(a, kind, `seen-${at}`);
          const seen = await b.request("GET", `${pathOf(kind)}/seen-${at}`);
          assert.deepEqual(seen.body, made);
        }
      }
    });

    it("list and watch each resource at the revisions of its own cluster", async () => {
      for (let at = 0; at < 30; at++) await create(a, "events", `many-${at}`);
      const list = (await b.request("GET", leases)).body as unknown as StoredList;
      const { resourceVersion } = list.metadata;
      const made = await create(a, "leases", "watched");
      const query = `?watch=true&timeoutSeconds=2&resourceVersion=${resourceVersion}`;
      const { body } = await b.request("GET", leases + query);
      const [first] = String(body["text"] ?? JSON.stringify(body)).split("\n");
      const { type, object } = JSON.parse(first ?? "") as { type: string; object: Stored };
      assert.deepEqual([type, object], ["ADDED", made]);
      const same = `${leases}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact&limit=500`;
      assert.deepEqual((await b.request("GET", same)).body, list);
    });

    it("hand out no node port twice", async () => {
      const made = Array.from({ length: 20 }, (_, at) =>
        create(at % 2 === 0 ? a : b, "services", `ports-${at}`),
      );
      const ports = (await Promise.all(made)).map(({ spec }) => spec?.ports?.[0]?.nodePort);
      assert.equal(new Set(ports).size, 20);
    });

    it("delete a namespace with what lies in either", async () => {
      const manager = await startRole([
        "controller-manager",
        "--kubeconfig",
        join(directory, "a", "controller-manager.conf"),
        "--use-service-account-credentials",
      ]);
      running.push(manager);
      await a.request("POST", "/api/v1/namespaces", { metadata: { name: "going" } });
      for (const kind of ["configmaps", "leases", "events"] as const) {
        const path = pathOf(kind).replace("/default/", "/going/");
        const event = { involvedObject: { kind: "Pod", namespace: "going", name: "p" } };
        const body = { ...bodies[kind]("inside"), ...(kind === "events" ? event : {}) };
        assert.equal((await a.request("POST", path, body)).status, 201);
      }
      await a.request("DELETE", "/api/v1/namespaces/going");
      await until("the namespace's end", async () =>
        (await statusOf(b, "GET", "/api/v1/namespaces/going")) === 404 ? true : undefined,
      );
      assert.deepEqual(await keysOf(other.url, "/registry/leases/going/"), []);
      assert.deepEqual(await keysOf(rest.url, "/registry/configmaps/going/"), []);
      await manager.stop();
    });

    it("answer for the resources of one cluster while the other is away", async () => {
      process.kill(other.pid ?? 0, "SIGSTOP");
      try {
        assert.equal(await statusOf(a, "GET", `${inDefault}/configmaps/kept`), 200);
        await create(a, "configmaps", "while-away");
        // What the cache holds is served; the newest state cannot be known.
        assert.equal(await statusOf(a, "GET", `${leases}/kept?resourceVersion=0`), 200);
      } finally {
        process.kill(other.pid ?? 0, "SIGCONT");
      }
      await until("leases", async () =>
        (await statusOf(a, "GET", `${leases}/kept`)) === 200 ? true : undefined,
      );
    });

    it("do not start with other entries than before, unless told that resources were moved", async () => {
      const start = (name: string, entries: string, more: readonly string[] = []) => {
        const flags = [`--etcd-servers=${rest.url}`, `--etcd-servers-overrides=${entries}`];
        const where = ["--data-dir", join(directory, name), "--secure-port", "0"];
        return startRole(["apiserver", ...where, ...flags, ...more]);
      };
      const text =
        /looked for elsewhere than where they are:\n {2}\/services was in etcd cluster [0-9a-f]+, would be with the rest\n/;
      const fewer = overrides.slice(0, 2).join(",");
      await assert.rejects(start("fewer", fewer), text);
      await assert.rejects(start("none", ""), /\/events was in etcd cluster/);
      const same = await start("same", [...overrides].reverse().join(","));
      await same.stop();
      for (const entries of [fewer, overrides.join(",")]) {
        const moved = await start("moved", entries, ["--accept-etcd-placement"]);
        await moved.stop();
        const again = await start("moved", entries);
        await again.stop();
      }
    });

    it("say which cluster is away", async () => {
      const { body } = await a.request("GET", "/readyz?verbose");
      const lines = String(body["text"]).split("\n");
      for (const name of ["etcd", "etcd-override-0", "etcd-readiness", "etcd-override-readiness-0"])
        assert.ok(lines.includes(`[+]${name} ok`), `${name}\n${lines.join("\n")}`);
      const { body: live } = await a.request("GET", "/livez?verbose");
      assert.doesNotMatch(String(live["text"]), /etcd-\S*readiness/);
    });

    void describe(
      "beside a stock one",
      { skip: stockProgram === undefined ? noStock : false, timeout: 200_000 },
      () => {
        let stock: StockApiServer;
        before(async () => {
          stock = await startApiServer(
            stockProgram ?? "",
            join(directory, "stock"),
            storageFlags(),
          );
        });
        after(() => stock?.stop());

        it("either reads what the other wrote", async () => {
          for (const kind of ["configmaps", "events", "leases"] as const) {
            const own = await create(a, kind, `ours-${kind}`);
            assert.deepEqual(
              (await stock.request("GET", `${pathOf(kind)}/ours-${kind}`)).body,
              own,
            );
            const its = await create(stock, kind, `its-${kind}`);
            assert.deepEqual((await a.request("GET", `${pathOf(kind)}/its-${kind}`)).body, its);
          }
        });

        it("hands out node ports from the same range", async () => {
          const made = Array.from({ length: 20 }, (_, at) =>
            create(at % 2 === 0 ? a : stock, "services", `mixed-${at}`),
          );
          const ports = (await Promise.all(made)).map(({ spec }) => spec?.ports?.[0]?.nodePort);
          assert.equal(new Set(ports).size, 20);
        });

        it("has health checks of the same names", async () => {
          const namesOf = (text: string): readonly string[] =>
            [...text.matchAll(/\[\+\](etcd\S*)/g)].map(([, name = ""]) => name).toSorted();
          for (const path of ["/readyz?verbose", "/livez?verbose", "/healthz?verbose"]) {
            const { agent, headers } = stock;
            const its = await textOf(stock.url + path, { agent, headers });
            const { body } = await a.request("GET", path);
            assert.deepEqual(namesOf(String(body["text"])), namesOf(its), path);
          }
        });
      },
    );

    it("refuse the resources of a cluster that died, and nothing else", async () => {
      isOtherClosed = true;
      await other.close();
      await until("the failed check", async () =>
        (await statusOf(a, "GET", "/readyz/etcd-override-0")) === 500 ? true : undefined,
      );
      assert.equal(await statusOf(a, "GET", "/readyz/etcd"), 200);
      const { status, body } = await a.request("GET", `${leases}/kept`);
      assert.deepEqual([status, body["reason"]], [503, "ServiceUnavailable"]);
      const refusal = await a.request("POST", leases, bodies.leases("refused"));
      assert.equal(refusal.status, 500);
      await create(a, "configmaps", "goes-on");
      assert.equal(await statusOf(b, "GET", `${inDefault}/configmaps/goes-on`), 200);
    });
  },
);

const refused: readonly (readonly [entry: string, text: RegExp])[] = [
  ["/events#", /must be of format: group\/resource#servers/],
  ["/events#ftp://127.0.0.1:1", /--etcd-servers-overrides ftp:\/\/127\.0\.0\.1:1 must be a URL/],
  ["/events#http://192.0.2.1:2379", /every Secret would cross a network in the clear/],
];

for (const [entry, text] of refused)
  void it(`--etcd-servers-overrides ${entry} is refused at the start`, async () => {
    const directory = temporaryDirectory("overrides-refused");
    const where = ["--data-dir", join(directory, "data"), "--secure-port", "0"];
    const storage = ["--etcd-servers", "http://127.0.0.1:1", "--etcd-servers-overrides", entry];
    await assert.rejects(startRole(["apiserver", ...where, ...storage]), text);
    removeDirectory(directory);
  });
