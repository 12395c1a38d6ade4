/**
 * What `up` serves without --runtime-config is what stock 1.36 serves: in every form of discovery, in the
 * schemas and in the APIServices; and the rest of the plane works with it. With the flag, and after a
 * restart with another one, it is what stock serves with it.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { given } from "#base/given.ts";
import { startEtcd } from "#etcd/testing/servers.ts";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  pilothouse,
  removeDirectory,
  run,
  type Running,
  startUp,
  temporaryDirectory,
} from "./harness.ts";
import { credentialsOf, type Json } from "./kube-http.ts";
import { noStock, stockPrograms } from "./peers.ts";
import { startApiServer, until } from "./stock-apiserver.ts";

// Recorded from a stock server 1.36.3, by group-version.
const golden = new URL("./golden/discovery-1.36.json", import.meta.url);
const recorded = Object.keys(JSON.parse(readFileSync(golden, "utf8")) as object).sort();
const kubectl = findKubectl();
const stock = stockPrograms();
const aggregated = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const unstable = /v\d+(?:alpha|beta)\d+/;

interface Access extends https.RequestOptions {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

interface Asked {
  readonly accept?: string;
  readonly method?: string;
  readonly body?: object;
}

function ask(
  { url, ...options }: Access,
  path: string,
  { accept = "application/json", method = "GET", body }: Asked = {},
): Promise<Reply> {
  const headers = { ...options.headers, accept, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const call = https.request(url + path, { ...options, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function read(access: Access, path: string, accept?: string): Promise<Json> {
  const { status, text } = await ask(access, path, given({ accept }));
  assert.equal(status, 200, text);
  return JSON.parse(text) as Json;
}

function listOf(json: Json, field: string): readonly Json[] {
  return (json[field] ?? []) as unknown as readonly Json[];
}

const pathOf = (groupVersion: string): string =>
  groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;

/** All that a server says of what it serves. */
interface Said {
  readonly groupVersions: readonly string[];
  /** `apps/v1/deployments`, of the lists of resources and of aggregated discovery. */
  readonly resources: readonly string[];
  readonly aggregated: readonly string[];
  /** Documents of OpenAPI version 3, and group-versions in the paths of version 2. */
  readonly schemas: readonly string[];
  readonly swagger: readonly string[];
  readonly apiServices: readonly string[];
}

async function saidBy(access: Access): Promise<Said> {
  const core = await read(access, "/api");
  const groups = listOf(await read(access, "/apis"), "groups");
  const groupVersions = [
    ...listOf(core, "versions").map(String),
    ...groups.flatMap((group) =>
      listOf(group, "versions").map((one) => String(one["groupVersion"])),
    ),
  ];
  const lists = await Promise.all(groupVersions.map((name) => read(access, pathOf(name))));
  const swagger = await read(access, "/openapi/v2");
  const services = await read(access, "/apis/apiregistration.k8s.io/v1/apiservices");
  return {
    groupVersions: sorted(groupVersions),
    resources: sorted(
      lists.flatMap((list) =>
        listOf(list, "resources")
          .map(({ name }) => `${String(list["groupVersion"])}/${String(name)}`)
          .filter((name) => !isSubresource(name)),
      ),
    ),
    aggregated: sorted([
      ...(await aggregatedAt(access, "/api")),
      ...(await aggregatedAt(access, "/apis")),
    ]),
    schemas: sorted(Object.keys((await read(access, "/openapi/v3"))["paths"] ?? {})),
    swagger: sorted(
      Object.keys(swagger["paths"] ?? {}).flatMap(
        (path) => /^\/(?:api|apis\/[^/]+)\/v[^/]*\/./.exec(path)?.[0] ?? [],
      ),
    ),
    apiServices: sorted(listOf(services, "items").map((one) => String(one["metadata"]?.["name"]))),
  };
}

function isSubresource(name: string): boolean {
  return /v\d+[^/]*\/[^/]+\//.test(name);
}

async function aggregatedAt(access: Access, path: string): Promise<readonly string[]> {
  const { text } = await ask(access, path, { accept: `application/json;${aggregated}` });
  return listOf(JSON.parse(text) as Json, "items").flatMap((group) =>
    listOf(group, "versions").flatMap((version) =>
      listOf(version, "resources").map((one) => {
        const name = String(group["metadata"]?.["name"] ?? "");
        const prefix = name === "" ? "" : `${name}/`;
        return `${prefix}${String(version["version"])}/${String(one["resource"])}`;
      }),
    ),
  );
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

const leases = "coordination.k8s.io/v1beta1";
const candidate = {
  apiVersion: leases,
  kind: "LeaseCandidate",
  metadata: { name: "one" },
  spec: {
    leaseName: "a",
    binaryVersion: "1.36.0",
    emulationVersion: "1.36.0",
    strategy: "OldestEmulationVersion",
  },
};
const candidates = `/apis/${leases}/namespaces/default/leasecandidates`;

describe("the versions that up serves", () => {
  const directory = temporaryDirectory("versions");
  let up: Running;

  async function start(...flags: readonly string[]): Promise<Access> {
    const data = join(directory, "data");
    // Stock has metrics.k8s.io from an add-on.
    const nodes = ["--nodes", "1", "--hollow-metrics", "false"];
    up = await startUp(["--data-dir", data, "--port", "0", ...nodes, ...flags]);
    const { server, ...secure } = credentialsOf(up.kubeconfig);
    return { url: server, ...secure };
  }

  let access: Access;
  before(async () => {
    access = await start();
  });
  after(async () => {
    await up.stop();
    removeDirectory(directory);
  });

  test("are those of stock, in discovery, schemas and APIServices", async () => {
    const said = await saidBy(access);
    assert.deepEqual(said.groupVersions, recorded);
    assert.deepEqual(said.aggregated, said.resources);
    const all = Object.values(said).flat();
    assert.deepEqual(
      all.filter((name) => unstable.test(name)),
      [],
    );
    const local = said.groupVersions.filter((name) => !name.startsWith("apiregistration.k8s.io/"));
    const services = local.map((name) => {
      const [group = "", version] = name.includes("/") ? name.split("/") : ["", name];
      return `${version}.${group}`;
    });
    assert.deepEqual(said.apiServices, sorted(services));
    for (const form of [`vnd.kubernetes.protobuf;${aggregated}`, "vnd.kubernetes.protobuf"]) {
      const { status, text } = await ask(access, "/apis", { accept: `application/${form}` });
      assert.equal(status, 200);
      assert.match(text, /apiregistration\.k8s\.io/);
      assert.doesNotMatch(text, unstable);
    }
    const swagger = await read(access, "/openapi/v2");
    const definitions = Object.keys(swagger["definitions"] ?? {});
    assert.deepEqual(
      definitions.filter((name) => unstable.test(name)),
      [],
    );
  });

  test("are those of stock to kubectl", { skip: kubectl === undefined ? noKubectl : false }, () => {
    const env = kubectlEnvironment(up.kubeconfig, directory);
    const { stdout, stderr } = run(kubectl ?? "", ["api-versions"], { env });
    assert.deepEqual(stdout.trim().split("\n"), recorded, stderr);
  });

  test("are enough for the scheduler, the controllers and the nodes", async () => {
    await ask(access, "/api/v1/namespaces", { method: "POST", body: space });
    await ask(access, deployments, { method: "POST", body: deployment });
    await until("both pods are ready", async () => {
      const { status } = await read(access, `${deployments}/web`);
      return Number(status?.["readyReplicas"]) === 2;
    });
    await ask(access, "/api/v1/namespaces/team", { method: "DELETE" });
    await until("the namespace is gone", async () => {
      return (await ask(access, "/api/v1/namespaces/team")).status === 404;
    });
    const complaints = up
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    assert.deepEqual(complaints, []);
  });

  test("are more and fewer after a restart, and what they stored stays", async () => {
    assert.equal((await ask(access, candidates)).status, 404);
    await up.stop();
    access = await start(`--runtime-config=${leases}=true`, "--runtime-config=batch/v1=false");
    const wide = await saidBy(access);
    const without = recorded.filter((name) => name !== "batch/v1");
    assert.deepEqual(wide.groupVersions, sorted([...without, leases]));
    assert.ok(wide.apiServices.includes("v1beta1.coordination.k8s.io"));
    assert.ok(!wide.apiServices.includes("v1.batch"));
    const made = await ask(access, candidates, { method: "POST", body: candidate });
    assert.equal(made.status, 201, made.text);
    const owner = { ...candidate, uid: JSON.parse(made.text).metadata.uid as string };
    await ask(access, maps, { method: "POST", body: ownedMap("kept", owner) });

    await up.stop();
    access = await start();
    await until("the APIServices are those of the start", async () => {
      const { apiServices } = await saidBy(access);
      return apiServices.length === recorded.length - 1 && apiServices.includes("v1.batch");
    });
    assert.equal((await ask(access, `${candidates}/one`)).status, 404);
    const nobody = { ...space, uid: "4d0cbb4b-5d1a-4f3e-9a3f-0e7a4a3c0001" };
    await ask(access, maps, { method: "POST", body: ownedMap("orphan", nobody) });
    await until("what has no owner is collected", async () => {
      return (await ask(access, `${maps}/orphan`)).status === 404;
    });
    assert.equal((await ask(access, `${maps}/kept`)).status, 200, "its owner is only out of sight");

    await up.stop();
    access = await start("--runtime-config=api/beta=true");
    assert.equal((await ask(access, `${candidates}/one`)).status, 200);
  });

  test("are refused in one sentence when the flag is wrong, before anything is made", () => {
    const data = join(directory, "none");
    for (const command of ["up", "apiserver"]) {
      const flag = "--runtime-config=foo/v1=true,bar/v1=false";
      const { code, stderr } = pilothouse([command, "--data-dir", data, flag]);
      assert.equal(code, 1);
      assert.match(stderr, /--runtime-config: unknown api groups bar\/v1,foo\/v1\n$/);
      assert.ok(!existsSync(data));
    }
  });
});

const space = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
const deployments = "/apis/apps/v1/namespaces/team/deployments";
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "nginx" }] },
    },
  },
};

const maps = "/api/v1/namespaces/default/configmaps";

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly uid: string;
}

function ownedMap(name: string, { apiVersion, kind, metadata, uid }: Owner): object {
  const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid }];
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ownerReferences } };
}

const beside = [
  "",
  "api/all=true,networking.k8s.io/v1beta1/ipaddresses=false,batch/v1=false",
  "api/beta=true,storage.k8s.io/v1beta1=0,apps/v1/controllerrevisions=false,extensions/v1beta1",
];
/** With the gates that stock wants for them. */
const gated =
  "certificates.k8s.io/v1alpha1,certificates.k8s.io/v1beta1,scheduling.k8s.io/v1alpha2,storagemigration.k8s.io/v1beta1";
const gates =
  "--feature-gates=ClusterTrustBundle=true,PodCertificateRequest=true,GenericWorkload=true,StorageVersionMigrator=true";

describe("a stock server beside ours", { skip: stock === undefined ? noStock : false }, () => {
  for (const flag of [...beside, gated]) {
    test(`serves the same with --runtime-config=${flag}`, async () => {
      const directory = temporaryDirectory("versions-stock");
      const config = flag === "" ? [] : [`--runtime-config=${flag}`];
      const etcd = await startEtcd(stock?.etcd ?? "");
      const args = [`--etcd-servers=${etcd.url}`, ...config, ...(flag === gated ? [gates] : [])];
      const theirs = await startApiServer(stock?.apiserver ?? "", directory, args);
      const data = join(directory, "data");
      const ours = await startUp(["--data-dir", data, "--port", "0", "--nodes", "0", ...config]);
      try {
        const { server, ...secure } = credentialsOf(ours.kubeconfig);
        assert.deepEqual(await saidBy({ url: server, ...secure }), await saidBy(theirs));
      } finally {
        await ours.stop();
        await theirs.stop();
        await etcd.close();
        removeDirectory(directory);
      }
    });
  }
});
