/**
 * Processes that may open few files, and far more clients than fit: writes go on, nothing is lost, metrics
 * are answered, and clients with credentials still get in.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Etcd3 } from "etcd3";
import { removeDirectory, root, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRole, startProgram } from "./role-harness.ts";

const openFilesMax = 256;
const clients = 1_000;
const launcher = join(root, "bin", "pilothouse.mjs");
const configMaps = "/api/v1/namespaces/default/configmaps";
const openFilesModule = join(root, "src", "core", "platform", "node", "open-files.ts");
const skip = process.platform !== "linux" && "only Linux's /proc tells the limit";

/** With a low limit, that it cannot raise. */
function startLimited(args: readonly string[], ready: RegExp): Promise<RunningRole> {
  const limited = `ulimit -n ${openFilesMax} && exec "$@"`;
  return startProgram("sh", ["-c", limited, "sh", process.execPath, launcher, ...args], ready);
}

test("the soft limit is raised to the hard one at the start, by Node itself", { skip }, () => {
  const script = `
    const { openFilesMax } = await import(${JSON.stringify(openFilesModule)});
    console.log(openFilesMax());`;
  const limited = 'ulimit -Sn 200 && ulimit -Hn 900 && exec "$@"';
  const run = ["-c", limited, "sh", process.execPath, "--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync("sh", run, { encoding: "utf8" });
  assert.equal(stdout.trim(), "900", stderr);
});

/** Connections that never say anything; each is with the server's kernel when this resolves. */
async function idleClients(url: string): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let index = 0; index < clients; index++) {
    const socket = connect(Number(port), hostname).on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
  }
  return sockets;
}

async function metricsOf(client: KubeHttp, path: string): Promise<string> {
  const { status, body } = await client.request("GET", path);
  assert.equal(status, 200);
  return String(body["text"]);
}

function figureOf(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

/** Some were closed, and it is said. The limit was not reached. */
function checkClosed(metrics: string, server: RunningRole): void {
  const most = figureOf(metrics, "pilothouse_connections_max");
  assert.ok(most > 100 && most < openFilesMax, metrics);
  assert.ok(figureOf(metrics, "pilothouse_connections") <= most);
  assert.ok(figureOf(metrics, "pilothouse_connections_closed_total") >= clients - most);
  assert.ok(figureOf(metrics, "process_open_fds") < openFilesMax);
  assert.match(server.output(), /"the limit of open files is low"/);
  assert.match(
    server.output(),
    /"connections take 80 % of the open files that this process may have"/,
  );
  assert.match(
    server.output(),
    /"connections without credentials were closed: there are too many"/,
  );
}

void describe("a process that may open 256 files, before 1,000 idle clients", { skip }, () => {
  const directory = temporaryDirectory("open-files");
  const data = join(directory, "data");
  const kubeconfig = join(data, "kubeconfig");
  let plane: RunningRole;

  before(async () => {
    const args = ["up", "--data-dir", data, "--port", "0", "--nodes", "0"];
    plane = await startLimited(args, /kubectl create/);
  });
  after(async () => {
    await plane?.kill();
    removeDirectory(directory);
  });

  test("up: writes, a watch, metrics and newcomers with credentials", async () => {
    const credentials = credentialsOf(kubeconfig);
    const first = new KubeHttp(credentials);
    await first.request("GET", "/api/v1/namespaces");
    const idle = await idleClients(credentials.server);
    try {
      for (let index = 0; index < 20; index++) {
        const client = index % 2 === 0 ? first : new KubeHttp(credentials);
        const made = await client.request("POST", configMaps, { metadata: { name: `m${index}` } });
        assert.equal(made.status, 201);
        if (client !== first) client.close();
      }
      const list = await first.request("GET", configMaps);
      const { items } = list.body as unknown as { readonly items: readonly unknown[] };
      assert.equal(items.length, 21, "with kube-root-ca.crt");
      checkClosed(await metricsOf(first, "/metrics"), plane);
    } finally {
      for (const socket of idle) socket.destroy();
      first.close();
    }
  });

  test("store: writes of a client that was there before, and metrics", async () => {
    const place = ["--data-dir", join(directory, "store"), "--listen", "127.0.0.1:0"];
    const store = await startLimited(["store", ...place], /revision \d+\n/);
    const url = /endpoint {2}(\S+)/.exec(store.output())?.[1] ?? "";
    const client = new Etcd3({ hosts: url });
    const idle: Socket[] = [];
    try {
      await client.put("before").value("1");
      idle.push(...(await idleClients(url)));
      for (let index = 0; index < 20; index++) await client.put(`k${index}`).value("1");
      assert.equal((await client.getAll().prefix("").keys()).length, 21);
      checkClosed(await (await fetch(`${url}/metrics`)).text(), store);
    } finally {
      client.close();
      for (const socket of idle) socket.destroy();
      await store.kill();
    }
  });

  test("relay: reads and metrics of newcomers with credentials", async () => {
    const pki = join(data, "pki");
    const keys = ["--cert", join(pki, "apiserver.crt"), "--key", join(pki, "apiserver.key")];
    const args = ["relay", "--upstream", kubeconfig, "--listen", "127.0.0.1:0", ...keys];
    const mirrored = ["--client-ca", join(pki, "ca.crt"), "--resources", "configmaps"];
    const relay = await startLimited([...args, ...mirrored], /frontends/);
    const server = /listens\s+(\S+)/.exec(relay.output())?.[1] ?? "";
    const idle = await idleClients(server);
    try {
      const client = new KubeHttp({ ...credentialsOf(kubeconfig), server });
      assert.equal((await client.request("GET", configMaps)).status, 200);
      checkClosed(await metricsOf(client, "/relay/metrics"), relay);
      client.close();
    } finally {
      for (const socket of idle) socket.destroy();
      await relay.kill();
    }
  });

  test("the store's files open when no descriptor is left at all", () => {
    const script = join(root, "test", "process", "no-descriptors.ts");
    const run = ["-c", 'ulimit -n 128 && exec "$@"', "sh", process.execPath, script, directory];
    const { status, stdout, stderr } = spawnSync("sh", run, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.equal(stdout, "opened, written, synced, listed\n");
  });
});
