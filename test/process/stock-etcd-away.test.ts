/** An API server on an etcd that is killed: requests meanwhile get an error that says so, and watches go on afterwards. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ConfigMap } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { fetchWith } from "./fetch-with.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import {
  type Asking,
  clientOf,
  type RunningRole,
  startProgram,
  startRole,
  until,
} from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const maps = { group: "", version: "v1", resource: "configmaps" };
const program = findPeer("etcd");
const skip = program === undefined ? noPeer("etcd") : false;

void describe("an API server whose etcd is killed", { skip, timeout: 120_000 }, () => {
  const directory = temporaryDirectory("stock-etcd-away");
  let etcdArgs: readonly string[] = [];
  let etcd: RunningRole;
  let server: RunningRole;
  let asking: Asking;

  function startEtcd(): Promise<RunningRole> {
    return startProgram(
      program ?? "",
      etcdArgs,
      /ready to serve client requests|serving insecure client requests/,
    );
  }

  before(async () => {
    const [port, peerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    etcdArgs = [
      `--data-dir=${join(directory, "etcd")}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    ];
    etcd = await startEtcd();
    const data = join(directory, "data");
    const args = ["--data-dir", data, "--secure-port", "0", "--etcd-servers", url];
    server = await startRole(["apiserver", ...args]);
    asking = await clientOf(join(data, "kubeconfig"));
  });
  after(async () => {
    asking?.close();
    await Promise.allSettled([server?.kill(), etcd?.kill()]);
    removeDirectory(directory);
  });

  async function health(): Promise<string> {
    const text = readFileSync(join(directory, "data", "kubeconfig"), "utf8");
    const url = /server: "?(https:[^"\s]+)/.exec(text)?.[1] ?? "";
    return (await fetchWith(url, "/readyz", "")).text();
  }

  function create(name: string): Promise<ConfigMap> {
    const metadata = { name, namespace: "default" };
    return asking.client.create<ConfigMap>(maps, "default", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
    });
  }

  it("answers 503 and 500 meanwhile, from the cache where that will do, and tells a watch all of it", async () => {
    const { client } = asking;
    const stop = new AbortController();
    const seen: string[] = [];
    const call = { namespace: "default", resourceVersion: "0", signal: stop.signal };
    const watching = client.watch<ConfigMap>(maps, call, (events) =>
      seen.push(...events.map(({ type, object }) => `${type} ${object.metadata?.name}`)),
    );
    await create("before");
    await etcd.kill();
    await assert.rejects(client.get(maps, "default", "before"), isCode(503));
    await assert.rejects(create("during"), isCode(500));
    const cached = await client.list(maps, { namespace: "default", resourceVersion: "0" });
    assert.ok(cached.items.some(({ metadata }) => metadata?.name === "before"));
    const failing = /\[\+\]log ok\n\[-\]etcd failed: reason withheld\n/;
    await until("a failing check", async () => failing.test(await health()) || undefined);
    etcd = await startEtcd();
    await until("a write", () => create("after").catch(() => undefined));
    await until("its event", () => Promise.resolve(seen.includes("ADDED after") || undefined));
    stop.abort();
    await watching;
    assert.equal(await health(), "ok");
    // One stream, from before to after: nothing was listed again.
    assert.deepEqual(seen, ["ADDED before", "ADDED after"]);
  });
});

function isCode(code: number): (error: unknown) => boolean {
  return (error) => error instanceof ApiError && error.code === code;
}
