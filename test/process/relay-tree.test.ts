/**
 * Real clients behind two relays in a tree: an informer of the official TypeScript client and `kubectl get -w`,
 * while the upstream and the relays are killed (SIGKILL) in turn and come back.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  CoreV1Api,
  ERROR,
  type Informer,
  KubeConfig,
  makeInformer,
  type ObjectCache,
  type V1ConfigMap,
} from "@kubernetes/client-node";
import {
  findKubectl,
  kubectlEnvironment,
  removeDirectory,
  startUp,
  temporaryDirectory,
  type Running,
} from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const kubectl = findKubectl();
const path = "/api/v1/namespaces/default/configmaps";
const withinMs = 15_000;

void describe("real clients behind a tree of relays", { timeout: 120_000 }, () => {
  const directory = temporaryDirectory("tree");
  const dataDir = join(directory, "data");
  const seen = { lists: 0, adds: [] as string[] };
  let plane: Running;
  let near: RunningRelay;
  let far: RunningRelay;
  let informer: Informer<V1ConfigMap> & ObjectCache<V1ConfigMap>;
  let watching: ChildProcess | undefined;
  let shown = "";
  let written = 0;
  let over = false;

  before(async () => {
    plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
    near = await relayBefore(plane.kubeconfig, "near");
    far = await relayBefore(near.kubeconfig, "far");
    informer = await startInformer(far.kubeconfig);
    watching = startKubectl(far.kubeconfig);
    await write();
    // The newest revision may have parts yet to come; who begins there is sent away by a loss. Not after this.
    await write();
  });
  after(async () => {
    over = true;
    watching?.kill("SIGKILL");
    await informer?.stop();
    await Promise.allSettled([far?.kill(), near?.kill(), plane?.kill()]);
    removeDirectory(directory);
  });

  function relayBefore(
    kubeconfig: string,
    name: string,
    listen = "127.0.0.1:0",
  ): Promise<RunningRelay> {
    const args = ["--resources", "configmaps", "--listen", listen];
    return startRelay({ kubeconfig, directory, name, pki: join(dataDir, "pki"), args });
  }

  async function startInformer(
    kubeconfig: string,
  ): Promise<Informer<V1ConfigMap> & ObjectCache<V1ConfigMap>> {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const api = config.makeApiClient(CoreV1Api);
    const made = makeInformer<V1ConfigMap>(config, path, () => {
      seen.lists++;
      return api.listNamespacedConfigMap({ namespace: "default" });
    });
    made.on("add", (object) => void seen.adds.push(object.metadata?.name ?? ""));
    // The client gives up when the connection breaks and asks its user to start it again.
    made.on(ERROR, () => {
      if (!over) setTimeout(() => void made.start().catch(() => {}), 100);
    });
    await made.start();
    return made;
  }

  function startKubectl(kubeconfig: string): ChildProcess | undefined {
    if (kubectl === undefined) return undefined;
    const args = ["get", "configmaps", "-n", "default", "-w", "-o", "name"];
    const env = kubectlEnvironment(kubeconfig, directory);
    const child = spawn(kubectl, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    child.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
    return child;
  }

  /** Straight to the plane; then everybody behind the tree must come to see it, once. */
  async function write(): Promise<void> {
    const name = `written-${written++}`;
    const client = new KubeHttp(credentialsOf(plane.kubeconfig));
    const { status } = await client.request("POST", path, { metadata: { name } });
    client.close();
    assert.equal(status, 201);
    await until(`the informer sees ${name}`, () => seen.adds.includes(name));
    if (watching !== undefined) {
      await until(`kubectl shows ${name}`, () => shown.includes(`configmap/${name}\n`));
    }
    assert.equal(seen.adds.filter((added) => added === name).length, 1);
    assert.ok(shown.split(`configmap/${name}\n`).length <= 2, "shown once");
  }

  void it("notice nothing when the relay between them and the upstream is killed", async () => {
    const { lists } = seen;
    await near.kill();
    near = await relayBefore(plane.kubeconfig, "near", new URL(near.url).host);
    await write();
    assert.equal(seen.lists, lists);
    assert.equal(watching?.exitCode ?? null, null, "kubectl still watches");
  });

  void it("notice nothing when the upstream is killed", async () => {
    const { lists } = seen;
    const { port } = new URL(plane.url);
    await plane.kill();
    plane = await startUp(["--data-dir", dataDir, "--port", port, "--nodes", "0"]);
    await write();
    assert.equal(seen.lists, lists);
    assert.equal(watching?.exitCode ?? null, null, "kubectl still watches");
  });

  void it("go on when their own relay is killed; kubectl, which ends with its connection, when asked again", async () => {
    await far.kill();
    far = await relayBefore(near.kubeconfig, "far", new URL(far.url).host);
    shown = "";
    watching?.kill("SIGKILL");
    watching = startKubectl(far.kubeconfig);
    if (watching !== undefined) {
      await until("kubectl lists", () => shown.includes(`configmap/written-${written - 1}\n`));
    }
    await write();
    const { body } = await listed();
    const names = (body["items"] ?? []) as readonly { metadata: { name: string } }[];
    await until("the informer holds what the plane holds", () => {
      const held = informer.list().map(({ metadata }) => metadata?.name);
      return (
        names.length === held.length && names.every(({ metadata }) => held.includes(metadata.name))
      );
    });
  });

  async function listed(): ReturnType<KubeHttp["request"]> {
    const client = new KubeHttp(credentialsOf(plane.kubeconfig));
    const answer = await client.request("GET", path);
    client.close();
    return answer;
  }
});

async function until(what: string, reached: () => boolean): Promise<void> {
  const end = performance.now() + withinMs;
  while (!reached()) {
    assert.ok(performance.now() < end, `not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
