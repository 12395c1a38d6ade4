/**
 * A stock kube-apiserver on `pilothouse store`, one or three replicas over an etcd: its objects, lists in pages,
 * watches and its own compaction, and kill -9 of the store under it, by kubectl and by raw requests.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  pilothouse,
  removeDirectory,
  run,
  temporaryDirectory,
} from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { freePort, startApiServer, until, type StockApiServer } from "./stock-apiserver.ts";
import { findHolder, Replica } from "./store-replica.ts";
import { startStore, type RunningStore } from "./store-harness.ts";

const program = findPeer("kube-apiserver");
const kubectl = findKubectl();
const skip =
  program === undefined ? noPeer("kube-apiserver") : kubectl === undefined ? noKubectl : false;

const maps = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string, value: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});

interface Storage {
  /** As `--etcd-servers` takes them. */
  readonly urls: string;
  start(): Promise<void>;
  /** Kills the process that holds the log; a supervisor starts it again at the same address. */
  killAndRestart(): Promise<void>;
  close(): Promise<void>;
}

class OneStore implements Storage {
  readonly #data: string;
  #store: RunningStore | undefined;

  constructor(scratch: string) {
    this.#data = join(scratch, "data");
  }

  get urls(): string {
    return this.#store?.url ?? "";
  }

  async start(): Promise<void> {
    const listen = this.#store === undefined ? "127.0.0.1:0" : new URL(this.urls).host;
    this.#store = await startStore(["--data-dir", this.#data, "--listen", listen]);
  }

  async killAndRestart(): Promise<void> {
    await this.#store?.kill();
    await this.start();
  }

  /** Stopped well, and every record is whole. */
  async stopAndCheck(): Promise<void> {
    assert.equal(await this.#store?.stop(), 0);
    const check = pilothouse(["store", "check", this.#data]);
    assert.equal(check.code, 0, check.stdout);
  }

  async close(): Promise<void> {
    await this.#store?.kill();
  }
}

class ReplicatedStore implements Storage {
  #etcd: TestServer | undefined;
  #replicas: readonly Replica[] = [];

  get urls(): string {
    return this.#replicas.map(({ url }) => url).join(",");
  }

  async start(): Promise<void> {
    const etcd = await startEtcd(findPeer("etcd") ?? "");
    this.#etcd = etcd;
    const ports = [await freePort(), await freePort(), await freePort()];
    this.#replicas = ports.map((port) => new Replica(port, [etcd.url]));
    await Promise.all(this.#replicas.map((replica) => replica.start()));
  }

  async killAndRestart(): Promise<void> {
    const holder = await findHolder(this.#replicas);
    await holder.store?.kill();
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.close()));
    await this.#etcd?.close();
  }
}

const storages = {
  "our store": (scratch: string) => new OneStore(scratch),
  "replicas of our store over an etcd": () => new ReplicatedStore(),
};
const skips = {
  "our store": skip,
  "replicas of our store over an etcd":
    skip === false && findPeer("etcd") === undefined ? noPeer("etcd") : skip,
};

for (const name of Object.keys(storages) as (keyof typeof storages)[]) {
  describe(`a stock kube-apiserver on ${name}`, { skip: skips[name] }, () =>
    runOn((scratch) => storages[name](scratch)),
  );
}

function runOn(storageOf: (scratch: string) => Storage): void {
  const scratch = temporaryDirectory("kube-apiserver");
  const storage = storageOf(scratch);
  let api: StockApiServer;

  before(async () => {
    await storage.start();
    api = await startApiServer(program ?? "", join(scratch, "api"), [
      `--etcd-servers=${storage.urls}`,
      "--etcd-compaction-interval=2s",
      // Pages come from the store, not from the server's own snapshots of its cache.
      "--feature-gates=ListFromCacheSnapshot=false",
    ]);
  });
  after(async () => {
    await api?.stop();
    await storage.close();
    removeDirectory(scratch);
  });

  function kube(args: readonly string[], input?: unknown): string {
    const env = kubectlEnvironment(api.kubeconfig, scratch);
    const text = input === undefined ? {} : { input: JSON.stringify(input) };
    const { code, stdout, stderr } = run(kubectl ?? "", args, { env, ...text });
    assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  test("kubectl applies, reads, changes and deletes", () => {
    assert.match(kube(["apply", "-f", "-"], configMap("one", "1")), /configmap\/one created/);
    assert.match(kube(["apply", "-f", "-"], configMap("one", "2")), /configmap\/one configured/);
    assert.match(kube(["apply", "-f", "-"], configMap("one", "2")), /configmap\/one unchanged/);
    assert.equal(kube(["get", "cm", "one", "-o", "jsonpath={.data.value}"]), "2");
    assert.match(kube(["delete", "cm", "one"]), /configmap "one" deleted/);
    const gone = run(kubectl ?? "", ["get", "cm", "one"], {
      env: kubectlEnvironment(api.kubeconfig, scratch),
    });
    assert.match(gone.stderr, /configmaps "one" not found/);
  });

  test("a write of a stale object is a conflict, and the newer one stays", async () => {
    const made = await api.request("POST", maps, configMap("guarded", "1"));
    assert.equal(made.status, 201);
    const newer = { ...made.body, data: { value: "2" } };
    assert.equal((await api.request("PUT", `${maps}/guarded`, newer)).status, 200);
    const stale = { ...made.body, data: { value: "3" } };
    assert.equal((await api.request("PUT", `${maps}/guarded`, stale)).status, 409);
    assert.equal((await api.request("GET", `${maps}/guarded`)).body["data"]?.["value"], "2");
  });

  test("a list in pages is of one revision whatever is written meanwhile; compacted, it says 410", async () => {
    const names = Array.from({ length: 25 }, (_, i) => `page-${String(i).padStart(2, "0")}`);
    await Promise.all(names.map((name) => api.request("POST", maps, configMap(name, "x"))));
    const query = `?limit=10&fieldSelector=metadata.namespace%3Ddefault`;
    let page = (await api.request("GET", maps + query)).body;
    const first = page;
    const seen = namesOf(page);
    await api.request("POST", maps, configMap("page-99", "too late for this list"));
    while (continueOf(page) !== "") {
      page = (await api.request("GET", `${maps}${query}&continue=${continueOf(page)}`)).body;
      assert.equal(page["metadata"]?.["resourceVersion"], first["metadata"]?.["resourceVersion"]);
      seen.push(...namesOf(page));
    }
    assert.deepEqual(
      seen.filter((name) => name.startsWith("page-")),
      names,
    );
    assert.equal(kube(["get", "cm", "-o", "name", "--chunk-size=7"]).match(/page-/g)?.length, 26);
    await compactedBeyond(Number(first["metadata"]?.["resourceVersion"]));
    const late = await api.request("GET", `${maps}${query}&continue=${continueOf(first)}`);
    assert.equal(late.status, 410);
    assert.equal(late.body["reason"], "Expired");
  });

  /** By the server's own compactor, every two seconds here. */
  async function compactedBeyond(revision: number): Promise<void> {
    const client = new EtcdClient(storage.urls.split(",")[0] ?? "");
    await until(`compaction beyond ${revision}`, async () => {
      await api.request("PUT", `${maps}/guarded`, configMap("guarded", String(performance.now())));
      return (await client.hashKv(0)).compactRevision > revision;
    });
    client.close();
  }

  test("the store killed under writes: all that was acknowledged is there, and a watch goes on", async () => {
    const columns = 'jsonpath={.type} {.object.metadata.name}{"\\n"}';
    const args = ["get", "cm", "--watch-only", "--output-watch-events", "-o", columns];
    const watcher = spawn(kubectl ?? "", args, {
      env: kubectlEnvironment(api.kubeconfig, scratch),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const events: string[] = [];
    createInterface(watcher.stdout).on("line", (line) => events.push(line));
    // It watches once it tells of something.
    let probes = 0;
    await until("kubectl watches", async () => {
      await api.request("POST", maps, configMap(`probe-${probes++}`, ""));
      return events.length > 0;
    });
    const acknowledged: { readonly name: string; readonly resourceVersion: string }[] = [];
    let written = 0;
    let killed = false;
    const writers = Array.from({ length: 4 }, async () => {
      // Some after the store is back, too.
      for (let more = 20; more > 0; more -= killed ? 1 : 0) {
        const name = `kill-${written++}`;
        const { status, body } = await api.request("POST", maps, configMap(name, name));
        if (status !== 201) continue;
        const { resourceVersion = "" } = (body["metadata"] ?? {}) as Record<string, string>;
        acknowledged.push({ name, resourceVersion });
        if (!killed && acknowledged.length >= 100) more++;
      }
    });
    await until("there are writes", () => Promise.resolve(acknowledged.length >= 100));
    for (let i = 0; i < 3; i++) await storage.killAndRestart();
    killed = true;
    await Promise.all(writers);
    const { status } = await api.request("POST", maps, configMap("last", ""));
    assert.equal(status, 201);
    const listed = (await api.request("GET", maps)).body["items"] ?? [];
    const versions = new Map(
      listed.map(({ metadata: m }) => [m?.["name"], m?.["resourceVersion"]]),
    );
    for (const { name, resourceVersion } of acknowledged) {
      assert.equal(versions.get(name as never), resourceVersion, name);
    }
    await until("the watch has heard of the last", () =>
      Promise.resolve(events.includes("ADDED last")),
    );
    watcher.kill();
    for (const { name } of acknowledged) {
      const told = events.filter((line) => line.endsWith(` ${name}`));
      assert.deepEqual(told, [`ADDED ${name}`]);
    }
  });

  if (!(storage instanceof OneStore)) return;
  test("the store stopped well, checked, and started again: the apiserver goes on", async () => {
    await storage.stopAndCheck();
    await storage.start();
    await until("it writes again", async () => {
      const { status } = await api.request("PUT", `${maps}/guarded`, configMap("guarded", "end"));
      return status === 200;
    });
  });
}

function namesOf(list: { readonly [field: string]: unknown }): string[] {
  const items = (list["items"] ?? []) as readonly { metadata: { name: string } }[];
  return items.map(({ metadata }) => metadata.name);
}

function continueOf(list: { readonly [field: string]: unknown }): string {
  const { continue: token = "" } = (list["metadata"] ?? {}) as { continue?: string };
  return encodeURIComponent(token);
}
