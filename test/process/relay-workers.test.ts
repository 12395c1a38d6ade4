/**
 * `pilothouse relay --serving-workers 2` as processes: clients spread over the workers, one of which
 * is killed; they go on where they were, and the upstream sees none of it.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const clientCount = 20;

void describe("pilothouse relay --serving-workers", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("relay-workers");
  const dataDir = join(directory, "data");
  let plane: Running;
  let relay: RunningRelay;

  before(async () => {
    plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
    const args = ["--resources", "configmaps", "--serving-workers", "2", "--log-level", "info"];
    const pki = join(dataDir, "pki");
    relay = await startRelay({ kubeconfig: plane.kubeconfig, directory, name: "r", pki, args });
  });
  after(async () => {
    await Promise.allSettled([relay?.stop(), plane?.kill()]);
    removeDirectory(directory);
  });

  void it("loses nobody when a worker is killed, and asks the upstream for nothing", async () => {
    const stopped = new AbortController();
    const admin = new KubeHttp(credentialsOf(plane.kubeconfig));
    const clients = Array.from({ length: clientCount }, () => new Follower(relay.kubeconfig));
    const running = clients.map((client) => client.run(stopped.signal));
    await until(() => clients.every(({ revision }) => revision !== ""));
    assert.equal((await servedBy(relay)).length, 2, "both workers have clients");
    await create(admin, "before");
    await until(() => clients.every(({ names }) => names.includes("before")));
    const lists = await upstreamLists(relay);

    process.kill(workerPids(relay)[0] ?? 0, "SIGKILL");
    await create(admin, "after");
    await until(() => clients.every(({ names }) => names.includes("after")));
    await until(() => workerPids(relay).length === 3);
    for (const { names, relists } of clients) {
      assert.deepEqual(
        names.filter((name) => name === "before" || name === "after"),
        ["before", "after"],
        "each once, in order",
      );
      assert.equal(relists, 1, "only the first look was a list");
    }
    assert.ok(
      clients.some(({ resumes }) => resumes > 0),
      "the killed worker had clients",
    );
    assert.equal(await upstreamLists(relay), lists);
    stopped.abort();
    clients.forEach((client) => client.close());
    await Promise.all(running);
    admin.close();
  });

  void it("serves who connects to a worker that hangs, once it is gone", async () => {
    const stopped = new AbortController();
    const hung = workerPids(relay).at(-1) ?? 0;
    process.kill(hung, "SIGSTOP");
    const clients = Array.from({ length: clientCount }, () => new Follower(relay.kubeconfig));
    const running = clients.map((client) => client.run(stopped.signal));
    // Those of the other worker are served; the rest have reached the one that does not answer.
    await until(() => clients.some(({ revision }) => revision !== ""));
    process.kill(hung, "SIGKILL");
    await until(() => clients.every(({ revision }) => revision !== ""));
    stopped.abort();
    clients.forEach((client) => client.close());
    await Promise.all(running);
  });

  void it("ends all its processes on SIGTERM", async () => {
    assert.equal(await relay.stop(), 0);
    for (const pid of workerPids(relay)) assert.throws(() => process.kill(pid, 0), /ESRCH/);
  });
});

/** An informer in twenty lines: lists once, then watches on from what it saw last. */
class Follower {
  readonly names: string[] = [];
  revision = "";
  relists = 0;
  resumes = -1;
  readonly #kubeconfig: string;
  #http: KubeHttp;

  constructor(kubeconfig: string) {
    this.#kubeconfig = kubeconfig;
    this.#http = new KubeHttp(credentialsOf(kubeconfig));
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.revision === "") await this.#list();
        this.resumes++;
        await this.#http.watch(
          `${configMaps}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.revision}`,
          (event) => this.#see(event),
        );
      } catch {
        // Cut: the next round connects anew.
      }
      if (signal.aborted) return;
      this.#http.close();
      this.#http = new KubeHttp(credentialsOf(this.#kubeconfig));
    }
  }

  close(): void {
    this.#http.close();
  }

  async #list(): Promise<void> {
    const { body } = await this.#http.request("GET", configMaps);
    this.relists++;
    this.revision = String(body["metadata"]?.["resourceVersion"] ?? "");
  }

  #see({ type, object }: { readonly type: string; readonly object: Json }): void {
    if (type === "ERROR") throw new Error(`told to list anew: ${JSON.stringify(object)}`);
    this.revision = String(object["metadata"]?.["resourceVersion"]);
    if (type === "ADDED") this.names.push(String(object["metadata"]?.["name"]));
  }
}

async function create(client: KubeHttp, name: string): Promise<void> {
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
  assert.equal((await client.request("POST", configMaps, configMap)).status, 201);
}

async function metrics(relay: RunningRelay): Promise<string> {
  const http = new KubeHttp(credentialsOf(relay.kubeconfig));
  const { body } = await http.request("GET", "/relay/metrics");
  http.close();
  return String(body["text"]);
}

async function upstreamLists(relay: RunningRelay): Promise<number> {
  const text = await metrics(relay);
  const sample = /^relay_upstream_lists_total\{process="owner",resource="v1\/configmaps"\} (\d+)$/m;
  return Number(sample.exec(text)?.[1]);
}

/** Workers that have streams open. */
async function servedBy(relay: RunningRelay): Promise<readonly string[]> {
  const text = await metrics(relay);
  return [...text.matchAll(/^relay_streams\{process="(worker-\d+)"\} [1-9]/gm)].map(
    ([, w]) => w ?? "",
  );
}

/** As the owner logs them. */
function workerPids(relay: RunningRelay): readonly number[] {
  return [...relay.output().matchAll(/"pid":(\d+),"msg":"serving worker listens"/g)].map(
    ([, pid]) => Number(pid),
  );
}

async function until(reached: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await reached())) {
    assert.ok(performance.now() < end, `not within ${withinMs} ms: ${reached.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
