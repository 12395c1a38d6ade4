/**
 * An informer of the official TypeScript client stays in sync through kill -9 and a restart: it
 * resumes its watch where it was, without listing again.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  CoreV1Api,
  ERROR,
  KubeConfig,
  makeInformer,
  type Informer,
  type ObjectCache,
  type V1ConfigMap,
} from "@kubernetes/client-node";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";

const path = "/api/v1/namespaces/default/configmaps";
const withinMs = 15_000;

describe("an informer of @kubernetes/client-node", () => {
  const directory = temporaryDirectory("informer");
  const log = { lists: 0, adds: [] as string[], updates: [] as string[], deletes: [] as string[] };
  let up: Running;
  let over = false;
  let api: CoreV1Api;
  let informer: Informer<V1ConfigMap> & ObjectCache<V1ConfigMap>;

  before(async () => {
    up = await start("0");
    const config = new KubeConfig();
    config.loadFromFile(up.kubeconfig);
    api = config.makeApiClient(CoreV1Api);
    informer = makeInformer<V1ConfigMap>(config, path, () => {
      log.lists++;
      return api.listNamespacedConfigMap({ namespace: "default" });
    });
    const nameOf = (object: V1ConfigMap): string => object.metadata?.name ?? "";
    informer.on("add", (object) => void log.adds.push(nameOf(object)));
    informer.on("update", (object) => void log.updates.push(nameOf(object)));
    informer.on("delete", (object) => void log.deletes.push(nameOf(object)));
    // The client gives up when the connection breaks and asks its user to start it again.
    informer.on(ERROR, () => {
      if (!over) setTimeout(() => void informer.start().catch(() => {}), 100);
    });
    await informer.start();
  });
  after(async () => {
    over = true;
    await informer.stop();
    await up.stop();
    removeDirectory(directory);
  });

  function start(port: string): Promise<Running> {
    return startUp(["--data-dir", join(directory, "data"), "--port", port, "--nodes", "0"]);
  }

  async function create(name: string): Promise<void> {
    await api.createNamespacedConfigMap({
      namespace: "default",
      body: { metadata: { name }, data: { n: "0" } },
    });
  }

  test("sees what is made, through kill -9 and restart, each once, with one list", async () => {
    await create("one");
    await until(() => log.adds.includes("one"));
    await up.kill();
    up = await start(new URL(up.url).port);
    await create("two");
    await api.deleteNamespacedConfigMap({ namespace: "default", name: "one" });
    await until(() => log.adds.includes("two") && log.deletes.includes("one"));
    assert.equal(log.lists, 1, "the informer listed again");
    assert.equal(log.adds.filter((name) => name === "one").length, 1);
    assert.equal(log.adds.filter((name) => name === "two").length, 1);
    const listed = await api.listNamespacedConfigMap({ namespace: "default" });
    const names = (objects: readonly V1ConfigMap[]): string[] =>
      objects.map((o) => o.metadata?.name ?? "").toSorted();
    assert.deepEqual(names(informer.list()), names(listed.items));
  });
});

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
