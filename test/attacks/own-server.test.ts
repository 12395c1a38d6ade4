/**
 * Requests that objects lead back to this server, or to one that trusts the same authority: they carry the
 * server's own certificate, which must be good for nothing here and for little elsewhere.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startPlane, type Plane } from "#cmd/plane/plane.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import {
  type KubeletPlane,
  makeNode,
  makeServiceAccount,
  podsPath,
  startKubeletPlane,
} from "../process/kubelet/kubelet-plane.ts";
import { until } from "../aggregation/aggregated-plane.ts";
import { configMap, configuration, pathOf, registration } from "../conformance/webhook-world.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const whoAmI = "apis/authentication.k8s.io/v1/selfsubjectreviews";
const whoever = {
  headers: { "content-type": "application/json" },
  body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
};

/** A balancer that this server does not know leads to it: 10.1.0.1. A sister of it is at 10.1.0.2. */
describe("a node that is the API server", () => {
  const ports = new Map<string, number>();
  let world: KubeletPlane;
  let sister: Plane;
  before(async () => {
    world = await startKubeletPlane({ ports });
    const own = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
    const options = { host: "127.0.0.1", port: 0, nodes: 0, loops: "none" } as const;
    sister = await startPlane({ ...own, log: silentLog }, { ...options, pki: world.pki });
    ports.set("10.1.0.1:10250", Number(new URL(world.plane.url).port));
    ports.set("10.1.0.2:10250", Number(new URL(sister.url).port));
    await makeNode(world, "itself", 10_250, { address: "10.1.0.1" });
    await makeNode(world, "sister", 10_250, { address: "10.1.0.2" });
  });
  after(async () => {
    await sister.stop();
    await world.stop();
  });

  test("does not know the certificate that kubelets are shown", async () => {
    const seen = await world.ask("POST", `/api/v1/nodes/itself/proxy/${whoAmI}`, whoever);
    assert.equal(seen.status, 401, seen.text);
    const secrets = await world.ask("GET", "/api/v1/nodes/itself/proxy/api/v1/secrets");
    assert.equal(secrets.status, 401);
  });

  test("knows it as one who may do what kubelets allow, where another server shows it", async () => {
    const seen = await world.ask("POST", `/api/v1/nodes/sister/proxy/${whoAmI}`, whoever);
    const { status } = JSON.parse(seen.text) as { status: { userInfo: object } };
    assert.deepEqual(
      { ...status.userInfo, extra: undefined },
      {
        username: "kube-apiserver-kubelet-client",
        groups: ["system:authenticated"],
        extra: undefined,
      },
    );
    const through = "/api/v1/nodes/sister/proxy/api/v1";
    assert.equal((await world.ask("GET", `${through}/secrets`)).status, 403);
    assert.equal((await world.ask("GET", `${through}/nodes`)).status, 200);
    assert.equal((await world.ask("DELETE", `${through}/nodes/itself`)).status, 403);
    const binding = {
      metadata: { name: "pwn" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
    };
    const bindings = "apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    const written = await world.ask("POST", `/api/v1/nodes/sister/proxy/${bindings}`, {
      ...whoever,
      body: binding,
    });
    assert.equal(written.status, 403);
  });

  test("is what kubelets ask about their client: it may use their API", async () => {
    const review = (verb: string, subresource: string): object => ({
      spec: {
        user: "kube-apiserver-kubelet-client",
        groups: ["system:authenticated"],
        resourceAttributes: { verb, resource: "nodes", subresource, name: "n" },
      },
    });
    for (const [verb, subresource] of [
      ["create", "proxy"],
      ["get", "log"],
      ["get", "metrics"],
      ["get", "pods"],
    ] as const) {
      const body = review(verb, subresource);
      const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
      const { text } = await world.ask("POST", path, { body });
      const { status } = JSON.parse(text) as { status: { allowed: boolean } };
      assert.equal(status.allowed, true, `${verb} ${subresource}`);
    }
  });
});

/** As `up` opens them: nothing is mapped. */
describe("an object that names an address of this server", () => {
  let world: PromisedPlane;
  let port: number;
  before(async () => {
    // So that the cluster IP of Service kubernetes is where an APIService leads.
    world = await startPromised({ aggregation: { routesEndpoints: false } });
    port = Number(new URL(world.plane.url).port);
    const asked = world as unknown as KubeletPlane;
    await makeServiceAccount(asked);
  });
  after(() => world.stop());

  const spellings = ["127.0.0.1", "127.0.0.9", "::ffff:127.0.0.1", "::1", "0.0.0.0", "localhost"];

  test("as a node's is not connected to for logs, exec or the proxy", async () => {
    for (const [at, address] of spellings.entries()) {
      const name = `node-${at}`;
      const type = address === "localhost" ? "Hostname" : "InternalIP";
      const status = {
        addresses: [{ type, address }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      };
      await world.ask("POST", "/api/v1/nodes", { body: { metadata: { name } } });
      const type2 = "application/merge-patch+json";
      const path = `/api/v1/nodes/${name}/status`;
      await world.ask("PATCH", path, { body: { status }, type: type2 });
      const spec = { nodeName: name, containers: [{ name: "c", image: "i" }] };
      await world.ask("POST", podsPath, { body: { metadata: { name }, spec } });
      const logs = await world.ask("GET", `${podsPath}/${name}/log`);
      assert.equal(logs.status, 500, logs.text);
      assert.match(logs.text, /address not allowed/, address);
      const proxied = await world.ask("GET", `/api/v1/nodes/${name}/proxy/version`);
      assert.match(proxied.text, /address not allowed/, address);
    }
  });

  test("as a webhook's is not connected to", async () => {
    for (const host of ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1"]) {
      const clientConfig = { url: `https://${host}:${port}/version` };
      const hook = configuration("validating", "own", { clientConfig });
      await world.ask("POST", `${registration}/${pathOf("validating")}`, { body: hook });
      const path = "/api/v1/namespaces/default/configmaps";
      const { status, text } = await world.ask("POST", path, { body: configMap("x") });
      await world.ask("DELETE", `${registration}/${pathOf("validating")}/own`);
      assert.equal(status, 500, text);
      assert.match(text, /address not allowed/, host);
    }
  });

  test("as an aggregated server's is not connected to", async () => {
    await world.ask("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      body: {
        metadata: { name: "any", labels: { "kubernetes.io/service-name": "kubernetes" } },
        addressType: "IPv4",
        ports: [{ name: "https", port: 443 }],
        endpoints: [{ addresses: ["10.77.0.1"] }],
      },
    });
    const group = "own.example.com";
    await world.ask("POST", "/apis/apiregistration.k8s.io/v1/apiservices", {
      body: {
        metadata: { name: `v1.${group}` },
        spec: {
          group,
          version: "v1",
          groupPriorityMinimum: 1,
          versionPriority: 1,
          insecureSkipTLSVerify: true,
          service: { name: "kubernetes", namespace: "default", port: 443 },
        },
      },
    });
    const message = await until(async () => {
      const path = `/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`;
      const { json } = await world.ask("GET", path);
      const { conditions = [] } = (json["status"] ?? {}) as {
        readonly conditions?: readonly { readonly message: string }[];
      };
      return conditions[0]?.message;
    }, "nothing was said of the server");
    assert.match(message, /address not allowed/);
  });
});

test("the kubelets' client is bound to upstream's role for it at the start", async () => {
  const world = await startPromised();
  const path =
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/pilothouse:kubelet-api-admin";
  const { json } = await world.ask("GET", path);
  await world.stop();
  assert.deepEqual(json["roleRef"], {
    apiGroup: "rbac.authorization.k8s.io",
    kind: "ClusterRole",
    name: "system:kubelet-api-admin",
  });
});
