/**
 * Two API servers on one etcd, either of which is killed at random under writers and watchers: no acknowledged write is
 * lost, none is there twice, and a watcher that goes on at the other server misses nothing and never lists again.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { findPeer, noPeer } from "./peers.ts";
import { type RunningRole, startRole } from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const etcdProgram = findPeer("etcd");
const kills = 8;
const writers = 4;
const watchers = 6;

void describe(
  "API servers on one etcd, killed at random",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 240_000 },
  () => {
    const directory = temporaryDirectory("stock-etcd-stops");
    const servers: Server[] = [];
    let etcd: TestServer;
    before(async () => {
      etcd = await startEtcd(etcdProgram ?? "");
      for (const name of ["a", "b"]) {
        const server = new Server(join(directory, name), await freePort(), etcd.url);
        await server.start();
        servers.push(server);
      }
    });
    after(async () => {
      await Promise.allSettled(servers.map((server) => server.kill()));
      await etcd?.close();
      removeDirectory(directory);
    });

    it("lose no acknowledged write, tell each once, and cause no list", async () => {
      const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
      const stopped = new AbortController();
      const first = await listed(servers[0]);
      const following = Array.from(
        { length: watchers },
        (_, at) => new Watcher(servers, at, first),
      );
      const watching = following.map((watcher) => watcher.run(stopped.signal));
      const writing = Array.from({ length: writers }, (_, at) => writeUntil(servers, at, stopped));
      for (let kill = 0; kill < kills; kill++) {
        const server = servers[random.below(servers.length)];
        await server?.kill();
        await pause(random.below(500));
        await server?.start();
        await pause(500);
      }
      stopped.abort();
      const acknowledged = (await Promise.all(writing)).flat();
      const { names } = await listed(servers[0]);
      assert.deepEqual((await listed(servers[1])).names, names, "both list the same");
      const missing = acknowledged.filter((name) => !names.includes(name));
      assert.deepEqual(missing, [], "acknowledged and lost");
      assert.ok(acknowledged.length > 100, `${acknowledged.length} writes`);
      const wanted = names.filter((name) => name.startsWith("w-")).toSorted();
      await until(() => following.every(({ seen }) => seen.length >= wanted.length));
      for (const watcher of following) {
        assert.deepEqual(watcher.seen.toSorted(), wanted, "each write once");
        assert.equal(watcher.refused, 0, "no watch was refused for its resourceVersion");
        watcher.close();
      }
      assert.ok(
        following.some(({ resumed }) => resumed > 0),
        "watches were cut",
      );
      await Promise.all(watching);
    });
  },
);

/** A server that comes back at its port. */
class Server {
  readonly #directory: string;
  readonly #args: readonly string[];
  #role: RunningRole | undefined;

  constructor(directory: string, port: number, etcd: string) {
    this.#directory = directory;
    const at = ["--data-dir", directory, "--secure-port", String(port)];
    this.#args = ["apiserver", ...at, "--etcd-servers", etcd];
  }

  async start(): Promise<void> {
    this.#role = await startRole(this.#args);
  }

  async kill(): Promise<void> {
    await this.#role?.kill();
  }

  connect(): KubeHttp {
    return new KubeHttp(credentialsOf(join(this.#directory, "kubeconfig")));
  }
}

/** Goes on at the next server when its watch is cut; never lists. */
class Watcher {
  readonly seen: string[] = [];
  resumed = -1;
  refused = 0;
  readonly #servers: readonly Server[];
  #at: number;
  #revision: string;
  #http: KubeHttp | undefined;

  constructor(servers: readonly Server[], at: number, { revision }: { readonly revision: string }) {
    this.#servers = servers;
    this.#at = at;
    this.#revision = revision;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted || this.#http !== undefined) {
      this.resumed++;
      this.#http = this.#servers[this.#at++ % this.#servers.length]?.connect();
      const path = `${configMaps}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#revision}`;
      await this.#http?.watch(path, (event) => this.#see(event));
      if (signal.aborted) return;
      this.#http?.close();
      await pause(50);
    }
  }

  close(): void {
    this.#http?.close();
    this.#http = undefined;
  }

  #see({ type, object }: { readonly type: string; readonly object: Json }): void {
    if (type === "ERROR") return void this.refused++;
    this.#revision = String(object["metadata"]?.["resourceVersion"]);
    const name = String(object["metadata"]?.["name"]);
    if (type === "ADDED" && name.startsWith("w-")) this.seen.push(name);
  }
}

/** @returns the names that a server acknowledged. */
async function writeUntil(
  servers: readonly Server[],
  writer: number,
  { signal }: AbortController,
): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  let at = writer;
  let http = servers[at % servers.length]?.connect();
  for (let n = 0; !signal.aborted; n++) {
    const name = `w-${writer}-${n}`;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
    const status = await http?.request("POST", configMaps, body).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 201) acknowledged.push(name);
    else {
      // The outcome is not known; the next name goes to the other server.
      http?.close();
      await pause(20);
      http = servers[++at % servers.length]?.connect();
    }
  }
  http?.close();
  return acknowledged;
}

async function listed(
  server: Server | undefined,
): Promise<{ readonly names: readonly string[]; readonly revision: string }> {
  const http = server?.connect();
  const answer = await http?.request("GET", configMaps);
  http?.close();
  assert.equal(answer?.status, 200);
  const items = (answer.body["items"] ?? []) as readonly Json[];
  const names = items.map(({ metadata }) => String(metadata?.["name"]));
  return { names, revision: String(answer.body["metadata"]?.["resourceVersion"]) };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function until(reached: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!reached()) {
    assert.ok(performance.now() < end, "watchers were told all within 20 s");
    await pause(25);
  }
}
