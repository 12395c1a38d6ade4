/** The doctor before faults of one API server: certificates, files, objects, a lost watch, a slow disk. */
import assert from "node:assert/strict";
import { accessSync, constants, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeServerCertificate } from "#auth/pki.ts";
import { checkGroup, type OpenWorld, openWorld } from "./doctor-live.ts";
import { doctor, type Told } from "./doctor-run.ts";
import {
  clientCertificate,
  doctorAheadMs,
  issueFor,
  nearEndMs,
  objectGrowth,
  openFiles,
  openFilesMax,
  silentZone,
  slowWatchers,
  storeDisk,
  stuckNamespace,
  watchCacheRestart,
} from "./doctor-server-faults.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { removeDirectory, root, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer, noStock, stockPrograms } from "./peers.ts";
import { type RunningRole, startProgram, startRole } from "./role-harness.ts";
import { freePort, startApiServer } from "./stock-apiserver.ts";

const directory = temporaryDirectory("doctor-server");
after(() => removeDirectory(directory));

const authorityOf = (place: string) => ({
  certificate: readFileSync(join(place, "pki", "ca.crt"), "utf8"),
  privateKey: readFileSync(join(place, "pki", "ca.key"), "utf8"),
});
const urlOf = (role: RunningRole): string => /https:\/\/\S+/.exec(role.output())?.[0] ?? "";

void describe("faults of a plane", { timeout: 120_000 }, () => {
  const place = join(directory, "plane");
  let plane: Running;
  let world: OpenWorld;
  before(async () => {
    plane = await startUp(["--port", "0", "--data-dir", place]);
    world = await openWorld(plane.kubeconfig);
  });
  after(async () => {
    await world.close();
    await plane.stop();
  });

  test("certificate-near-end, of a client", () =>
    checkGroup(world, [clientCertificate({ url: plane.url, authority: authorityOf(place) })]));

  test("stuck-namespace", () => checkGroup(world, [stuckNamespace], [], doctorAheadMs));
});

void describe("faults of an API server", { timeout: 120_000 }, () => {
  const place = join(directory, "apiserver");
  const kubeconfig = join(place, "kubeconfig");
  const args = ["apiserver", "--data-dir", place, "--secure-port", "0"];
  const launcher = join(root, "bin", "pilothouse.mjs");

  test("open-files, object-growth, silent-nodes of one zone", async () => {
    const limited = `ulimit -n ${openFilesMax} && exec "$@"`;
    const shell = ["-c", limited, "sh", process.execPath, launcher, ...args];
    const server = await startProgram("sh", shell, /ready in/);
    const world = await openWorld(kubeconfig);
    try {
      await checkGroup(world, [openFiles({ url: urlOf(server) }), objectGrowth, silentZone]);
    } finally {
      await world.close();
      await server.stop();
    }
  });

  test("certificate-near-end, of the server", async () => {
    // The kubeconfig of the first is the second's, too: who brings a certificate keeps their own.
    const own = [...args.slice(0, -1), String(await freePort())];
    const server = await startRole(own);
    assert.deepEqual(await certificatesNearEnd(kubeconfig), []);
    await server.stop();
    const files = writeServing(place);
    const shown = [
      "--tls-cert-file",
      files.certificate,
      "--tls-private-key-file",
      files.privateKey,
    ];
    const another = await startRole([...own, ...shown]);
    assert.deepEqual(await certificatesNearEnd(kubeconfig), [
      "serving certificate of the API server",
    ]);
    await another.stop();
  });
});

function writeServing(place: string): {
  readonly certificate: string;
  readonly privateKey: string;
} {
  const issue = issueFor(nearEndMs);
  const made = makeServerCertificate(authorityOf(place), "kube-apiserver", ["127.0.0.1"], issue);
  const certificate = join(place, "near-end.crt");
  const privateKey = join(place, "near-end.key");
  writeFileSync(certificate, made.certificate);
  writeFileSync(privateKey, made.privateKey, { mode: 0o600 });
  return { certificate, privateKey };
}

async function certificatesNearEnd(kubeconfig: string): Promise<readonly string[]> {
  const { stdout, stderr } = await doctor(kubeconfig, pause);
  assert.notEqual(stdout, "", stderr);
  const { findings } = JSON.parse(stdout) as Told;
  return findings
    .filter(({ rule }) => rule === "certificate-near-end")
    .map(({ culprit }) => culprit);
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

const etcdProgram = findPeer("etcd");
const strace = findPeer("strace");
const stock = stockPrograms();
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** It attaches to another program. */
function noStrace(): string | false {
  if (strace === undefined) return noPeer("strace");
  return process.getuid?.() === 0
    ? false
    : "strace attaches to what it did not start for root alone";
}

/** Its syncs take no time, whatever else the machine's disk has to do. */
const quick = isWritable("/dev/shm") ? mkdtempSync("/dev/shm/pilothouse-doctor-") : directory;
after(() => removeDirectory(quick));

for (const kind of ["ours", "stock"] as const) {
  const noEtcd = etcdProgram === undefined ? noPeer("etcd") : false;
  const skip = kind === "stock" && stock === undefined ? noStock : noEtcd;
  void describe(
    `faults of the etcd under an API server: ${kind}`,
    { skip, timeout: 120_000 },
    () => {
      let etcd: EtcdCluster;
      let server: Awaited<ReturnType<typeof startOn>>;
      let world: OpenWorld;
      before(async () => {
        etcd = await EtcdCluster.start(etcdProgram ?? "", join(quick, kind), 1);
        server = await startOn(kind, etcd);
        world = await openWorld(server.kubeconfig);
      });
      after(async () => {
        await world.close();
        await server.stop();
        await etcd.close();
      });

      // Ours cuts no slow watcher: it reads on in the history.
      if (kind === "stock") test("slow-watchers", () => checkGroup(world, [slowWatchers]));

      // Ours is looked at above.
      if (kind === "stock") test("open-files, silent-nodes of one zone", () => limitedStock(etcd));

      test("store-disk", { skip: noStrace() }, () =>
        checkGroup(world, [storeDisk(etcd, strace ?? "")], [`--etcd=${etcd.urls[0]}`]),
      );

      test("watch-cache-restart", () =>
        checkGroup(world, [watchCacheRestart(etcd, server.pid)], ["--seconds", "8"]));
    },
  );
}

/** On an etcd of its own; the caller ends both. */
async function startOn(kind: "ours" | "stock", etcd: EtcdCluster) {
  const place = join(directory, `on-etcd-${kind}`);
  const servers = `--etcd-servers=${etcd.urls.join(",")}`;
  if (kind === "stock") {
    const server = await startApiServer(stock?.apiserver ?? "", place, [servers]);
    return { kubeconfig: server.kubeconfig, pid: () => server.pid, stop: () => server.stop() };
  }
  const role = await startRole(["apiserver", "--data-dir", place, "--secure-port", "0", servers]);
  return {
    kubeconfig: join(place, "kubeconfig"),
    pid: () => role.child.pid ?? 0,
    stop: () => role.stop(),
  };
}

/** It may open few files; the shell's limit is its own. */
async function limitedStock(etcd: EtcdCluster): Promise<void> {
  const program = join(directory, "limited");
  const exec = `exec ${stock?.apiserver ?? ""} "$@"`;
  writeFileSync(program, `#!/bin/sh\nulimit -n ${openFilesMax} && ${exec}\n`, {
    mode: 0o700,
  });
  const place = join(directory, "limited-stock");
  const servers = `--etcd-servers=${etcd.urls.join(",")}`;
  const limited = await startApiServer(program, place, [servers]);
  const other = await openWorld(limited.kubeconfig);
  try {
    await checkGroup(other, [openFiles({ url: limited.url }), silentZone]);
  } finally {
    await other.close();
    await limited.stop();
  }
}
