/** Every role a process of its own: they find each other by kubeconfig alone, and leaders hand over. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Deployment, Lease, Pod, Secret, ServiceAccount } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { leaseResource } from "#client/election.ts";
import type { KeptEvent } from "#server/audit/testing/kept-audit.ts";
import { expectTypeWarnings } from "./policy-status.ts";
import { freePort } from "./stock-apiserver.ts";
import { pilothouse, removeDirectory, temporaryDirectory } from "./harness.ts";
import {
  type Asking,
  clientOf,
  createPod,
  nodeOf,
  podsRef,
  type RunningRole,
  startRole,
  until,
} from "./role-harness.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
const secrets = { group: "", version: "v1", resource: "secrets" };
const accounts = { group: "", version: "v1", resource: "serviceaccounts" };
/** A lease that a test can wait for. */
const quick = [
  "--leader-elect-lease-duration",
  "3s",
  "--leader-elect-renew-deadline",
  "2s",
  "--leader-elect-retry-period",
  "1s",
];

void describe("roles in processes of their own", { timeout: 240_000 }, () => {
  const directory = temporaryDirectory("roles");
  const data = join(directory, "data");
  const audit = join(directory, "audit.log");
  const running: RunningRole[] = [];
  let asking: Asking;
  let client: Client;

  async function start(...args: readonly string[]): Promise<RunningRole> {
    const role = await startRole([...args, "--log-level", "info"]);
    running.push(role);
    return role;
  }

  function scheduler(kubeconfig: string): Promise<RunningRole> {
    return start(
      "scheduler",
      "--kubeconfig",
      join(data, kubeconfig),
      "--secure-port",
      "0",
      ...quick,
    );
  }

  function holder(name: string): Promise<string> {
    return until(`a holder of Lease ${name}`, async () => {
      const lease = await client
        .get<Lease>(leaseResource, "kube-system", name)
        .catch(() => undefined);
      return lease?.spec?.holderIdentity || undefined;
    });
  }

  const reads = new Set(["get", "list", "watch"]);

  /** `create /api/v1/...` and so on, by this user from `sinceMs` on, as far as the log is written. */
  function writesOf(user: string, sinceMs: number): readonly string[] {
    const lines = readFileSync(audit, "utf8").trimEnd().split("\n");
    const entries = lines.map((line) => JSON.parse(line) as KeptEvent);
    const own = entries.filter(
      ({ user: { username }, verb, requestReceivedTimestamp: at }) =>
        username === user && !reads.has(verb) && Date.parse(at) >= sinceMs,
    );
    return own.map(({ verb, requestURI }) => `${verb} ${requestURI}`);
  }

  function pem(file: string): string {
    return readFileSync(join(data, "pki", file), "utf8");
  }

  before(async () => {
    await start("apiserver", "--data-dir", data, "--secure-port", "0", "--audit-log", audit);
    asking = await clientOf(join(data, "kubeconfig"));
    client = asking.client;
    await start("hollow", "--kubeconfig", join(data, "kubeconfig"), "--nodes", "3");
  });
  after(async () => {
    asking?.close();
    await Promise.allSettled(running.map((role) => role.kill()));
    removeDirectory(directory);
  });

  it("run a Deployment: apiserver, scheduler, controller-manager and hollow", async () => {
    await scheduler("scheduler.conf");
    await start(
      "controller-manager",
      "--kubeconfig",
      join(data, "controller-manager.conf"),
      "--use-service-account-credentials",
      "--service-account-private-key-file",
      join(data, "pki", "sa.key"),
      "--secure-port",
      "0",
    );
    await client.create<Deployment>(deployments, "default", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 5,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "main", image: "nginx" }] },
        },
      },
    });
    await until("five available replicas", async () => {
      const { status } = await client.get<Deployment>(deployments, "default", "web");
      return status?.availableReplicas === 5 ? true : undefined;
    });
  });

  it("check the types of a policy by what the API server publishes", () =>
    expectTypeWarnings(client));

  it("act as the service accounts of their controllers, which are made when missing", async () => {
    const account = "deployment-controller";
    const made = await client.get<ServiceAccount>(accounts, "kube-system", account);
    assert.equal(made.metadata?.name, account);
    const user = `system:serviceaccount:kube-system:${account}`;
    await until("a ReplicaSet that it made", () => {
      const isMade = writesOf(user, 0).some((line) => /^create .*\/replicasets(\?|$)/.test(line));
      return Promise.resolve(isMade || undefined);
    });
  });

  it("fill Secrets of type service-account-token with the key they are given", async () => {
    const annotations = { "kubernetes.io/service-account.name": "default" };
    await client.create<Secret>(secrets, "default", {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: { name: "legacy", annotations },
    });
    await until("a token in the Secret", async () => {
      const { data: filled } = await client.get<Secret>(secrets, "default", "legacy");
      return filled?.["token"];
    });
  });

  it("show health to anybody, and metrics to those the API server lets", async () => {
    const port = await freePort();
    const served = await start(
      "scheduler",
      "--kubeconfig",
      join(data, "scheduler.conf"),
      "--leader-elect-resource-name",
      "of-its-own",
      "--secure-port",
      String(port),
    );
    const url = `https://127.0.0.1:${port}`;
    const admin = { key: pem("admin.key"), cert: pem("admin.crt") };
    const other = { key: pem("front-proxy-client.key"), cert: pem("front-proxy-client.crt") };
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      assert.deepEqual(await get(url + path), { status: 200, text: "ok" });
    }
    assert.equal((await get(`${url}/metrics`)).status, 403);
    assert.equal((await get(`${url}/metrics`, other)).status, 401);
    assert.match((await get(`${url}/metrics`, admin)).text, /^leader_election_master_status/m);
    for (const who of [undefined, other]) {
      assert.equal((await get(`${url}/configz`, who)).status, who === undefined ? 403 : 401);
    }
    const { componentconfig } = JSON.parse((await get(`${url}/configz`, admin)).text) as {
      readonly componentconfig: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    assert.equal(componentconfig["kind"], "KubeSchedulerConfiguration");
    assert.equal(componentconfig["leaderElection"]?.["resourceName"], "of-its-own");
    assert.equal(componentconfig["leaderElection"]?.["leaseDuration"], "15s");
    assert.equal((await get(`${url}/metrics/resources`)).status, 403);
    const resources = { requests: { cpu: "250m" } };
    await client.create<Pod>(podsRef, "default", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "asks", namespace: "default" },
      spec: { containers: [{ name: "main", image: "nginx", resources }] },
    });
    await until("a series of the Pod", async () => {
      const { text } = await get(`${url}/metrics/resources`, admin);
      return (
        /^kube_pod_resource_request\{.*pod="asks".*unit="cores"\} 0.25$/m.test(text) || undefined
      );
    });
    assert.equal((await get(`${url}/nothing`, admin)).status, 404);
    await served.stop();
  });

  it("hand over in order on SIGTERM: the next leader schedules at once", async () => {
    const [, , first] = running;
    assert.ok(first);
    const before = await holder("kube-scheduler");
    await scheduler("scheduler.conf");
    const startedMs = performance.now();
    assert.equal(await first.stop(), 0);
    await createPod(client, "after-handover");
    await nodeOf(client, "after-handover");
    // Less than a lease: it was given back, not waited for.
    assert.ok(performance.now() - startedMs < 3_000, "the lease was given back");
    assert.notEqual(await holder("kube-scheduler"), before);
  });

  it("a paused leader that wakes up writes nothing", async () => {
    const second = running.at(-1);
    assert.ok(second);
    const before = await holder("kube-scheduler");
    // Another user, so that the audit log tells them apart.
    const successor = await scheduler("kubeconfig");
    second.child.kill("SIGSTOP");
    await until("a successor", async () =>
      (await holder("kube-scheduler")) === before ? undefined : true,
    );
    for (let one = 0; one < 20; one++) await createPod(client, `meanwhile-${one}`);
    const wokenMs = Date.now();
    second.child.kill("SIGCONT");
    for (let one = 0; one < 20; one++) await nodeOf(client, `meanwhile-${one}`);
    await until("the end of its term", async () =>
      /lost the lease/.test(second.output()) ? true : undefined,
    );
    // Everything up to here is in the log once this line is.
    await createPod(client, "last");
    await until("the last line", () => {
      const lines = readFileSync(audit, "utf8");
      return Promise.resolve(lines.includes('"name":"last"') || undefined);
    });
    assert.ok(writesOf("system:kube-scheduler", 0).length > 0);
    assert.deepEqual(writesOf("system:kube-scheduler", wokenMs), []);
    assert.equal(await successor.stop(), 0);
  });
});

function get(
  url: string,
  identity: { readonly key?: string; readonly cert?: string } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, agent: false, ...identity };
    const asked = https.get(url, options, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.on("error", reject);
  });
}

void describe("roles refuse what they cannot do, in one sentence", () => {
  const refusals: readonly (readonly [args: readonly string[], text: RegExp])[] = [
    [["scheduler", "--kubeconfig", "/nonexistent"], /cannot read \/nonexistent/],
    [["scheduler", "--feature-gates", "Foo=true"], /unrecognized feature gate: Foo/],
    [
      ["scheduler", "--leader-elect-lease-duration", "5s", "--kubeconfig", "/nonexistent"],
      /lease-duration must be longer than --leader-elect-renew-deadline/,
    ],
    [["controller-manager", "--cluster-signing-key-file", "x"], /come together/],
    [["controller-manager", "--service-account-private-key-file", "/nonexistent"], /cannot read/],
    [["apiserver", "--authorization-mode", "ABAC"], /ABAC: it is not served here/],
    [["apiserver", "--service-cluster-ip-range", "fd00::/108"], /one IPv4 range/],
    [["apiserver", "--service-node-port-range", "40000-30000"], /FIRST-LAST/],
    [["apiserver", "--tls-cert-file", "x"], /go together/],
    [["apiserver", "--service-account-issuer", "1:b"], /no URL/],
    [["hollow", "--name-prefix", "Bad_"], /lower-case/],
  ];
  for (const [args, expected] of refusals) {
    it(args.join(" "), () => {
      const result = pilothouse(args);
      assert.equal(result.code, 1, result.stderr);
      assert.match(result.stderr, expected);
      assert.doesNotMatch(result.stderr, /\n\s+at /, "a stack is not for users");
    });
  }
});
