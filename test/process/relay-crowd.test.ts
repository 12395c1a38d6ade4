/**
 * A crowd behind three relays, one of them behind another, while relays and the upstream are killed in
 * turn: everybody goes on where he was, nothing is listed again, every checksum is right.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CheckingWatcher, totals } from "./checking-watcher.ts";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const path = "/api/v1/namespaces/default/configmaps";
const crowd = 60;
const resumeMsMax = 5_000;

void describe("a crowd behind relays that are killed in turn", { timeout: 240_000 }, () => {
  const directory = temporaryDirectory("crowd");
  const dataDir = join(directory, "data");
  const relays: RunningRelay[] = [];
  let plane: Running;
  let watchers: readonly CheckingWatcher[] = [];
  let written = 0;

  before(async () => {
    plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "0"]);
    for (const at of [0, 1, 2]) relays.push(await start(at));
    const credentials = relays.map((relay) => credentialsOf(relay.kubeconfig));
    await write();
    watchers = Array.from({ length: crowd }, (_, first) => {
      return new CheckingWatcher(credentials, { path, first, timeoutSeconds: 600 });
    });
    await until(() => watchers.every(({ synced }) => synced));
  });
  after(async () => {
    await Promise.all(watchers.map((watcher) => watcher.stop()));
    await Promise.allSettled([...relays.map((relay) => relay.kill()), plane?.kill()]);
    removeDirectory(directory);
  });

  /** The third's upstream is the first. */
  function start(at: number, listen = "127.0.0.1:0"): Promise<RunningRelay> {
    const kubeconfig = (at === 2 ? relays[0]?.kubeconfig : undefined) ?? plane.kubeconfig;
    const args = ["--resources", "configmaps", "--listen", listen];
    const pki = join(dataDir, "pki");
    return startRelay({ kubeconfig, directory, name: `relay${at}`, pki, args });
  }

  async function write(): Promise<void> {
    const client = new KubeHttp(credentialsOf(plane.kubeconfig));
    const metadata = { name: `written-${written++}` };
    const answer = await client.request("POST", path, { metadata, data: { a: "1" } });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    client.close();
  }

  /** Everybody holds what was written last, told once and in order. */
  async function all(withinMs: number): Promise<number> {
    await write();
    const startedMs = performance.now();
    const key = `default/written-${written - 1}`;
    await until(() => watchers.every(({ copy }) => copy.has(key)), withinMs);
    assert.equal(totals(watchers).disordered, 0);
    return performance.now() - startedMs;
  }

  async function lists(at: number): Promise<number> {
    const relay = relays[at];
    assert.ok(relay !== undefined);
    const client = new KubeHttp(credentialsOf(relay.kubeconfig));
    const { body } = await client.request("GET", "/relay/metrics");
    client.close();
    const found = /^relay_upstream_lists_total\{[^}]*\} (\d+)$/m.exec(String(body["text"]));
    return Number(found?.[1]);
  }

  void it("goes on at the others within 5 s when one of three is killed: no list, no snapshot", async () => {
    const before = [await lists(0), await lists(2)];
    await relays[1]?.kill();
    const ms = await all(resumeMsMax);
    assert.ok(ms < resumeMsMax, `${ms} ms`);
    assert.deepEqual([await lists(0), await lists(2)], before, "nothing was listed upstream");
    const { snapshots, resumes, refused } = totals(watchers);
    assert.equal(snapshots, crowd, "one per client, at its start");
    assert.ok(resumes >= crowd / 3, "the killed one's clients resumed");
    assert.equal(refused, 0);
    const url = relays[1]?.url ?? "";
    relays[1] = await start(1, new URL(url).host);
  });

  void it("goes on when the relay in the middle of a tree is killed and comes back", async () => {
    await relays[0]?.kill();
    relays[0] = await start(0, new URL(relays[0]?.url ?? "").host);
    await all(30_000);
    assert.equal(await lists(0), 1, "the new one lists once");
  });

  void it("goes on when the upstream is killed and comes back", async () => {
    const { port } = new URL(plane.url);
    await plane.kill();
    plane = await startUp(["--data-dir", dataDir, "--port", port, "--nodes", "0"]);
    await all(40_000);
    const { mismatched, sums } = totals(watchers);
    assert.equal(mismatched, 0);
    assert.ok(sums >= crowd, "every client checked a sum");
  });
});

async function until(reached: () => boolean, withinMs = 30_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!reached()) {
    assert.ok(performance.now() < end, `not within ${withinMs} ms: ${reached.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
