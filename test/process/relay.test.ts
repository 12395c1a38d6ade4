/**
 * The relay as an operator runs it: processes, sockets, certificates, the real kubectl, a plane that is
 * stopped and started again, and a relay before a relay.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  run,
  startUp,
  temporaryDirectory,
  type CommandResult,
  type Running,
} from "./harness.ts";
import { fetchWith } from "./fetch-with.ts";
import { type Answer, credentialsOf, type Json, KubeHttp } from "./kube-http.ts";
import { type RelayOptions, type RunningRelay, startRelay } from "./relay-harness.ts";

const kubectl = findKubectl();
const configMaps = "/api/v1/namespaces/default/configmaps";
const clients = 40;

void describe("pilothouse relay", { timeout: 240_000 }, () => {
  const directory = temporaryDirectory("relay");
  const dataDir = join(directory, "data");
  const pki = join(dataDir, "pki");
  let plane: Running;
  let near: RunningRelay;
  let far: RunningRelay;

  before(async () => {
    plane = await startUp(["--data-dir", dataDir, "--port", "0", "--nodes", "1"]);
    near = await relayBefore(plane.kubeconfig, "near");
    // A tree: the second relay's upstream is the first, by its URL.
    far = await relayBefore(near.kubeconfig, "far", urlOf(near));
  });
  after(async () => {
    await Promise.allSettled([far?.kill(), near?.kill(), plane?.kill()]);
    removeDirectory(directory);
  });

  function relayBefore(
    kubeconfig: string,
    name: string,
    more: Pick<RelayOptions, "access"> = {},
  ): Promise<RunningRelay> {
    const args = ["--resources", "configmaps,pods,namespaces"];
    return startRelay({ kubeconfig, directory, name, pki, args, ...more });
  }

  function urlOf({ url }: RunningRelay): { access: readonly string[] } {
    const file = (name: string): string => join(pki, name);
    const user = ["--upstream-cert", file("admin.crt"), "--upstream-key", file("admin.key")];
    return { access: ["--upstream", url, "--upstream-ca", file("ca.crt"), ...user] };
  }

  function http(kubeconfig: string): KubeHttp {
    return new KubeHttp(credentialsOf(kubeconfig));
  }

  function kube(relay: RunningRelay, ...args: string[]): CommandResult {
    const env = kubectlEnvironment(relay.kubeconfig, directory);
    return run(kubectl ?? "", args, { env });
  }

  void it("answers the real kubectl, writes included, and a read sees the write before it", (context) => {
    if (kubectl === undefined) return context.skip(noKubectl);
    for (const [at, relay] of [near, far].entries()) {
      const name = `from-${at}`;
      const made = kube(relay, "create", "configmap", name, "--from-literal=a=1");
      assert.equal(made.code, 0, made.stderr);
      const listed = kube(relay, "get", "configmaps", "-o", "name");
      assert.match(listed.stdout, new RegExp(`configmap/${name}`));
      const one = kube(relay, "get", "configmap", name, "-o", "jsonpath={.data.a}");
      assert.equal(one.stdout, "1");
      const shown = kube(relay, "get", "configmaps", "-l", "none=such");
      assert.match(shown.stderr, /No resources found/);
      const watched = kube(
        relay,
        "wait",
        `configmap/${name}`,
        "--for=jsonpath={.data.a}=1",
        "--timeout=10s",
      );
      assert.equal(watched.code, 0, watched.stderr);
      assert.equal(kube(relay, "delete", "configmap", name).code, 0);
      assert.match(kube(relay, "get", "configmap", name).stderr, /NotFound/);
    }
    const logs = kube(near, "get", "deployments", "-A");
    assert.equal(logs.code, 0, "what is not mirrored passes through");
  });

  void it(`costs the upstream one watch for ${clients} clients`, async () => {
    const direct = http(plane.kubeconfig);
    const before = await watches(direct, "configmaps");
    assert.ok(before >= 1, "the relay watches");
    const relayed = http(near.kubeconfig);
    const seen: string[][] = [];
    const watching = Array.from({ length: clients }, (_, at) => {
      const names: string[] = [];
      seen.push(names);
      const start =
        at % 2 === 0
          ? "resourceVersion=0"
          : "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
      return relayed.watch(`${configMaps}?watch=true&${start}`, (event) => {
        if (event.type === "ADDED") names.push(nameOf(event.object));
      });
    });
    await put(relayed, "crowd");
    await until(() => seen.every((names) => names.includes("crowd")));
    assert.equal(await watches(direct, "configmaps"), before);
    relayed.close();
    direct.close();
    await Promise.all(watching);
  });

  void it("lets nobody read whom the upstream would not, and says so in its words", async () => {
    const admin = http(near.kubeconfig);
    const token = await tokenOf(admin, "default");
    const asAccount = (path: string): Promise<Response> => fetchWith(near.url, path, token);
    const refused = await asAccount(configMaps);
    assert.equal(refused.status, 403);
    const status = (await refused.json()) as { message: string };
    assert.match(
      status.message,
      /^configmaps is forbidden: User "system:serviceaccount:default:default" cannot list resource "configmaps" in API group "" in the namespace "default"/,
    );
    assert.equal((await asAccount("/etag/api/v1/configmaps")).status, 403);
    assert.equal(
      (await asAccount("/api/v1/nodes")).status,
      403,
      "as the user, where it passes through",
    );
    assert.equal((await fetchWith(near.url, configMaps, "no-such-token")).status, 401);
    assert.equal((await fetchWith(near.url, configMaps, "")).status, 403, "as the upstream says");
    await grant(admin);
    await until(async () => (await asAccount(configMaps)).status === 200);
    admin.close();
  });

  void it("names content by ETags that agree along the tree, and tells pollers what changed", async () => {
    const [one, two] = [http(near.kubeconfig), http(far.kubeconfig)];
    const token = await tokenOf(one, "default");
    await put(one, "etag-a");
    const path = "/etag/api/v1/namespaces/default/configmaps";
    const tagAt = async (relay: RunningRelay): Promise<string> => {
      const answer = await fetchWith(relay.url, path, token);
      await answer.arrayBuffer();
      return (answer.headers.get("etag") ?? "").replace("+gzip", "");
    };
    await until(async () => (await tagAt(near)) === (await tagAt(far)));
    const first = await fetchWith(near.url, path, token);
    const etag = first.headers.get("etag") ?? "";
    const since = first.headers.get("x-revision") ?? "";
    await first.arrayBuffer();
    assert.equal((await fetchWith(far.url, path, token, { "if-none-match": etag })).status, 304);
    const waiting = fetchWith(far.url, `${path}?since=${since}&wait=20s`, token, {
      "if-none-match": etag,
    });
    await put(one, "etag-b");
    const changes = (await (await waiting).json()) as { kind: string; items: Json[] };
    assert.equal(changes.kind, "ChangeList");
    assert.deepEqual(changes.items.map(nameOf), ["etag-b"]);
    one.close();
    two.close();
  });

  void it("keeps serving while the upstream is away, and goes on without a list", async () => {
    const client = http(far.kubeconfig);
    const names: string[] = [];
    const watching = client.watch(`${configMaps}?watch=true&resourceVersion=0`, (event) => {
      names.push(nameOf(event.object));
    });
    await until(() => names.includes("etag-b"));
    // The upstream has to have said yes once: what it never allowed is refused while it is away.
    assert.equal((await client.request("GET", configMaps)).status, 200);
    const lists = await metric(client, 'relay_upstream_lists_total{resource="v1/configmaps"}');
    const { port } = new URL(plane.url);
    assert.equal(await plane.stop(), 0);
    const held = await client.request("GET", `${configMaps}?resourceVersion=0`);
    assert.equal(held.status, 200, JSON.stringify(held.body));
    assert.ok(items(held).map(nameOf).includes("etag-b"));
    plane = await startUp(["--data-dir", dataDir, "--port", port, "--nodes", "0"]);
    const direct = http(plane.kubeconfig);
    await put(direct, "after-restart");
    await until(() => names.includes("after-restart"), 30_000);
    assert.equal(names.filter((name) => name === "etag-b").length, 1, "nothing came twice");
    const now = await metric(client, 'relay_upstream_lists_total{resource="v1/configmaps"}');
    assert.equal(now, lists, "no list for a restart");
    client.close();
    direct.close();
    await watching;
  });

  void it("ends well on SIGTERM", async () => {
    assert.equal(await far.stop(), 0, far.output());
    assert.equal(await near.stop(), 0, near.output());
  });
});

async function put(client: KubeHttp, name: string): Promise<void> {
  const metadata = { name };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } };
  const answer = await client.request("POST", configMaps, object);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
}

/** Watches of `resource` the server has open, by its own count. */
async function watches(client: KubeHttp, resource: string): Promise<number> {
  const { body } = await client.request("GET", "/metrics");
  const lines = String(body["text"])
    .split("\n")
    .filter((line) => line.startsWith("apiserver_longrunning_requests{"))
    .filter((line) => line.includes(`resource="${resource}"`) && line.includes('verb="WATCH"'));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

async function metric(client: KubeHttp, series: string): Promise<number> {
  const { body } = await client.request("GET", "/relay/metrics");
  const line = String(body["text"])
    .split("\n")
    .find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

async function tokenOf(client: KubeHttp, account: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${account}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const { body } = await client.request("POST", path, request);
  return String(body["status"]?.["token"]);
}

async function grant(client: KubeHttp): Promise<void> {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const root = `/apis/${apiVersion}`;
  const subject = { kind: "ServiceAccount", name: "default", namespace: "default" };
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  const binding = { apiVersion, kind: "ClusterRoleBinding", metadata: { name: "readers" } };
  const answer = await client.request("POST", `${root}/clusterrolebindings`, {
    ...binding,
    roleRef,
    subjects: [subject],
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
}

/** HTTP/1.1 with a bearer token, the certificate taken on trust: it is about the answer. */

function nameOf(object: Json): string {
  return String(object["metadata"]?.["name"]);
}

function items(answer: Answer): readonly Json[] {
  return (answer.body["items"] ?? []) as readonly Json[];
}

async function until(reached: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await reached())) {
    assert.ok(performance.now() < end, `not within ${withinMs} ms: ${reached.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
