/**
 * `pilothouse init`, from an empty directory to a cluster: what the systemd units would start is started, a replica is
 * killed, and certificates are renewed under a writer. Compose file and manifests say what the units say.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { parse } from "yaml";
import type { ConfigMap, Deployment, Pod } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import {
  type Asking,
  clientOf,
  podsRef,
  type RunningRole,
  startProgram,
  startRole,
  until,
} from "./role-harness.ts";
import { freePort } from "./stock-apiserver.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
const maps = { group: "", version: "v1", resource: "configmaps" };
const etcdProgram = findPeer("etcd");
const ready = /started in|ready in/;
const names = ["apiserver", "controller-manager", "scheduler"].flatMap((role) => [
  `${role}-0`,
  `${role}-1`,
]);

function runInit(out: string, ...args: readonly string[]): string {
  const { code, stdout, stderr } = pilothouse(["init", "--out", out, ...args]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** ExecStart of a unit, as systemd splits words without quotes. */
function execStart(out: string, name: string): readonly string[] {
  const text = readFileSync(join(out, "systemd", `pilothouse-${name}.service`), "utf8");
  const [, line = ""] = /^ExecStart=(.*)$/m.exec(text.replaceAll("\\\n", "")) ?? [];
  return line.split(/ +/);
}

void describe("init's files", () => {
  const directory = temporaryDirectory("init-files");
  const out = join(directory, "cluster");
  const printed = runInit(out, "--replicas", "2");
  after(() => removeDirectory(directory));

  it("are listed in a table, with what to do next", () => {
    assert.match(printed, /^wrote .*cluster\n {2}API servers 127\.0\.0\.1:6443 127\.0\.0\.1:6444/);
    assert.match(printed, /next\n {2}systemctl enable --now/);
  });

  it("keep keys and kubeconfigs to their owner", () => {
    const isSecret = (file: string): boolean => /\.(key|kubeconfig)$/.test(file);
    const secrets = (readdirSync(out, { recursive: true }) as string[]).filter(isSecret);
    assert.equal(secrets.length, 17);
    for (const file of secrets) assert.equal(statSync(join(out, file)).mode & 0o777, 0o600, file);
  });

  it("say the same in units, Compose file and manifests", () => {
    const compose = parse(readFileSync(join(out, "compose.yaml"), "utf8"), { version: "1.1" }) as {
      services: Record<string, { command: string[]; volumes: { target: string }[]; user: unknown }>;
    };
    assert.deepEqual(Object.keys(compose.services).sort(), [...names, "etcd"].sort());
    assert.equal(typeof compose.services["scheduler-0"]?.user, "string");
    assert.equal(readdirSync(join(out, "systemd")).length, names.length);
    assert.equal(readdirSync(join(out, "manifests")).length, names.length);
    for (const name of names) {
      const [, , ...words] = execStart(out, name);
      const manifest = readFileSync(join(out, "manifests", `pilothouse-${name}.yaml`), "utf8");
      const pod = parse(manifest, { version: "1.1" }) as {
        spec: { containers: { args: string[]; volumeMounts: { mountPath: string }[] }[] };
      };
      const [container] = pod.spec.containers;
      const service = compose.services[name];
      assert.ok(words.length > 3);
      assert.deepEqual(service?.command, words, name);
      assert.deepEqual(container?.args, words, name);
      const mounts = container?.volumeMounts.map(({ mountPath }) => mountPath) ?? [];
      assert.deepEqual(
        service?.volumes.map(({ target }) => target),
        mounts,
      );
      // Every path that a flag names is in the container.
      const paths = words.flatMap((word) =>
        word.includes(`=${out}/`) ? [word.split("=")[1] ?? ""] : [],
      );
      for (const path of paths)
        assert.ok(
          mounts.some((mount) => path === mount || path.startsWith(`${mount}/`)),
          path,
        );
    }
  });

  it("are made again from init.json and what is not made twice: authorities and the token key", () => {
    const restored = join(directory, "restored");
    mkdirSync(join(restored, "pki"), { recursive: true });
    cpSync(join(out, "init.json"), join(restored, "init.json"));
    const kept = [...certificates(out).keys()].filter((file) =>
      /^(ca|front-proxy-ca|sa)\./.test(file),
    );
    for (const file of kept) cpSync(join(out, "pki", file), join(restored, "pki", file));
    assert.match(runInit(restored), /^renewed /);
    const list = (path: string): readonly string[] =>
      (readdirSync(path, { recursive: true }) as string[]).sort();
    assert.deepEqual(list(restored), list(out));
    for (const file of kept)
      assert.equal(certificates(restored).get(file), certificates(out).get(file));
  });

  it("are not made with new authorities where the old ones are missing", () => {
    const restored = join(directory, "restored");
    for (const file of ["sa.key", "front-proxy-ca.crt", "ca.key"]) {
      rmSync(join(restored, "pki", file));
      const { code, stderr } = pilothouse(["init", "--out", restored]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`${file} is missing: put it back from a backup`));
    }
  });

  it("are refused in a directory that holds anything else, which stays as it was", () => {
    const foreign = join(directory, "foreign");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "notes"), "mine");
    const { code, stderr } = pilothouse(["init", "--out", foreign]);
    assert.equal(code, 1);
    assert.match(stderr, /^pilothouse: .* holds something else \(notes\)/);
    assert.deepEqual(readdirSync(foreign), ["notes"]);
  });

  it("are not written for a path or an address that would need quotes", () => {
    const refused = [
      ["--out", join(directory, 'a "b"\n[Service]\nExecStart=/bin/false')],
      ["--out", join(directory, "c"), "--address", "10.0.0.1\nExecStart=/bin/false"],
      ["--out", join(directory, "c"), "--endpoint", "a b"],
    ];
    for (const args of refused) {
      const { code, stderr } = pilothouse(["init", ...args]);
      assert.equal(code, 1, stderr);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
    assert.deepEqual(readdirSync(directory).sort(), ["cluster", "foreign", "restored"]);
  });
});

void describe(
  "init's units",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 300_000 },
  () => {
    const directory = temporaryDirectory("init");
    const out = join(directory, "cluster");
    const running = new Map<string, RunningRole>();
    const ports: number[] = [];
    const asking: Asking[] = [];
    let hollow: RunningRole | undefined;
    let etcd: TestServer;

    async function start(name: string): Promise<void> {
      const [program = "", ...words] = execStart(out, name);
      running.set(name, await startProgram(program, words, ready));
    }

    async function stop(name: string): Promise<void> {
      assert.equal(await running.get(name)?.stop(), 0, name);
    }

    function clients(): readonly Client[] {
      return asking.map(({ client }) => client);
    }

    before(async () => {
      etcd = await startEtcd(etcdProgram ?? "");
      ports.push(await freePort(), await freePort());
      const addresses = ports.map((port) => `127.0.0.1:${port}`).join(",");
      const health = String(await freePort());
      runInit(out, "--address", addresses, "--etcd-servers", etcd.url, "--health-port", health);
      for (const name of names) await start(name);
      for (const at of [0, 1])
        asking.push(await clientOf(join(out, "kubeconfig", `admin-${at}.kubeconfig`)));
      const kubeconfig = join(out, "kubeconfig", "admin-1.kubeconfig");
      hollow = await startRole(["hollow", "--kubeconfig", kubeconfig, "--nodes", "1"]);
    });
    after(async () => {
      for (const one of asking) one.close();
      const roles = hollow === undefined ? running.values() : [...running.values(), hollow];
      await Promise.allSettled([...roles].map((role) => role.kill()));
      await etcd?.close();
      removeDirectory(directory);
    });

    async function deploy(name: string): Promise<void> {
      const [, client] = clients();
      assert.ok(client);
      await client.create<Deployment>(deployments, "default", deployment(name));
      await until(`two available replicas of ${name}`, async () => {
        const { status } = await client.get<Deployment>(deployments, "default", name);
        return status?.availableReplicas === 2 || undefined;
      });
    }

    it("run a Deployment", () => deploy("first"));

    it("are Pods that an API server takes, in manifests", async () => {
      const [client] = clients();
      for (const name of names) {
        const text = readFileSync(join(out, "manifests", `pilothouse-${name}.yaml`), "utf8");
        await client?.create<Pod>(podsRef, "kube-system", parse(text) as Pod);
        await client?.delete(podsRef, "kube-system", `pilothouse-${name}`);
      }
    });

    it("go on when a replica is killed", async () => {
      await running.get("apiserver-0")?.kill();
      await deploy("second");
      await start("apiserver-0");
    });

    it("lose no write when certificates are renewed and every replica is restarted", async () => {
      const before = certificates(out);
      assert.match(runInit(out), /^renewed /);
      const renewed = certificates(out);
      for (const [file, text] of before) {
        const isKept = /^(ca|front-proxy-ca|sa)\./.test(file);
        assert.equal(renewed.get(file) === text, isKept, file);
      }
      const writer = startWriter(clients());
      for (const at of [0, 1]) {
        await stop(`apiserver-${at}`);
        await start(`apiserver-${at}`);
        const served = await servedCertificate(ports[at] ?? 0);
        assert.equal(
          served,
          new X509Certificate(renewed.get(`apiserver-${at}.crt`) ?? "").fingerprint256,
        );
        await writer.untilMore(20);
      }
      const written = await writer.end();
      for (const name of names.filter((one) => !one.startsWith("apiserver"))) {
        await stop(name);
        await start(name);
      }
      for (const client of clients()) {
        const { items } = await client.list<ConfigMap>(maps, { namespace: "default" });
        const found = new Set(items.map(({ metadata }) => metadata?.name ?? ""));
        assert.deepEqual(
          written.filter((name) => !found.has(name)),
          [],
        );
      }
      await deploy("third");
    });
  },
);

function deployment(name: string): Deployment {
  const labels = { app: name };
  const containers = [{ name: "main", image: "nginx" }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
}

/** By file name; the token key among them. */
function certificates(out: string): ReadonlyMap<string, string> {
  const folder = join(out, "pki");
  return new Map(
    readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")]),
  );
}

function servedCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

/** Writes ConfigMaps one after the other through the replicas in turn, and through the next when one does not answer. */
function startWriter(clients: readonly Client[]): {
  untilMore(count: number): Promise<unknown>;
  /** @returns the names of what was acknowledged. */
  end(): Promise<readonly string[]>;
} {
  const written: string[] = [];
  let isEnding = false;
  let failure: unknown;
  async function write(name: string, turn: number): Promise<void> {
    await until(`an answer about ${name}`, async () => {
      const client = clients[turn++ % clients.length];
      try {
        await client?.create(maps, "default", {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name, namespace: "default" },
        });
        return true;
      } catch (error) {
        // It was there already: the first try landed, its answer was lost.
        if (error instanceof ApiError && error.code === 409) return true;
        if (error instanceof ApiError && error.code < 500) throw error;
        return undefined;
      }
    });
  }
  const writing = (async () => {
    for (let at = 0; !isEnding; at++) {
      await write(`written-${at}`, at);
      written.push(`written-${at}`);
    }
  })().catch((error: unknown) => (failure = error));
  return {
    untilMore(count) {
      const goal = written.length + count;
      return until(`${count} writes`, () => {
        if (failure !== undefined) throw failure;
        return Promise.resolve(written.length >= goal || undefined);
      });
    },
    async end() {
      isEnding = true;
      await writing;
      assert.equal(failure, undefined);
      return written;
    },
  };
}
