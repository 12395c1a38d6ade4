/**
 * examples/views as docs/views.md tells it: a plane, the objects, and two relays with the operator's file. Both serve the same
 * rows with the same ETag, before and after changes, and after one of them was killed and started anew.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseAllDocuments } from "yaml";
import { removeDirectory, root, type Running, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";
import { fetchWith } from "./fetch-with.ts";
import { until } from "./role-harness.ts";

const examples = join(root, "examples", "views");
const routes =
  'kube_shop__web__shop_example_org_____web: Host("^(shop[.]example[.]org[.]?(:[0-9]+)?)$") && PathSubtree("/") -> ' +
  'setPath("/shop") -> <roundRobin, "http://10.0.0.1:8080", "http://10.0.0.2:8080">;\n';
const slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
const places: Readonly<Record<string, string>> = {
  Namespace: "/api/v1/namespaces",
  Service: "/api/v1/namespaces/shop/services",
  EndpointSlice: slices,
  Ingress: "/apis/networking.k8s.io/v1/namespaces/shop/ingresses",
};

interface Object {
  readonly kind: string;
}

void describe("examples/views", { timeout: 180_000 }, () => {
  const directory = temporaryDirectory("relay-joined");
  let plane: Running;
  let admin: KubeHttp;
  let token = "";
  const relays: RunningRelay[] = [];

  const start = (name: string): Promise<RunningRelay> => {
    const { kubeconfig } = plane;
    const args = ["--resources", "namespaces", "--views", join(examples, "views.yaml")];
    const pki = join(directory, "demo", "pki");
    return startRelay({ kubeconfig, directory, name, pki, args });
  };
  const bodiesOf = async (path: string): Promise<readonly (readonly [string, string])[]> =>
    Promise.all(
      relays.map(async ({ url }) => {
        const answer = await fetchWith(url, path, path === "/routes" ? "" : token);
        return [await answer.text(), answer.headers.get("etag") ?? ""] as const;
      }),
    );
  /** What both serve, once they agree on it and it is as asked. */
  const agreed = (path: string, isAsked: (text: string) => boolean): Promise<string> =>
    until(path, async () => {
      const [a, b] = await bodiesOf(path);
      return a?.[0] === b?.[0] && a?.[1] === b?.[1] && isAsked(a?.[0] ?? "") ? a?.[0] : undefined;
    });

  before(async () => {
    plane = await startUp(["--data-dir", join(directory, "demo"), "--port", "0", "--nodes", "1"]);
    admin = new KubeHttp(credentialsOf(plane.kubeconfig));
    const documents = parseAllDocuments(readFileSync(join(examples, "shop.yaml"), "utf8"));
    for (const object of documents.map((one) => one.toJS() as Object)) {
      const { status } = await admin.request("POST", places[object.kind] ?? "", object);
      assert.equal(status, 201, object.kind);
    }
    token = await readerToken(admin);
    relays.push(...(await Promise.all(["a", "b"].map(start))));
  });
  after(async () => {
    admin?.close();
    await Promise.allSettled([...relays.map((relay) => relay.kill()), plane?.kill()]);
    removeDirectory(directory);
  });

  it("are the routes, upstreams and rows that the file declares, equal on both relays", async () => {
    assert.equal(await agreed("/routes", (text) => text.includes("shop")), routes);
    const upstreams = await agreed("/views/upstreams", (text) => text.includes("10.0.0.2"));
    assert.match(upstreams, /upstream [\w-]+ \{[^}]*10\.0\.0\.1:8080/);
    const backends = await agreed("/views/backends", (text) => text.includes("shop.example.org"));
    assert.deepEqual((JSON.parse(backends) as { items: unknown }).items, [
      {
        namespace: "shop",
        name: "web",
        fields: { addresses: ["10.0.0.1", "10.0.0.2"], hosts: ["shop.example.org"] },
      },
    ]);
  });

  it("follow a change, and are equal after a relay was killed and started anew", async () => {
    const endpoints = [{ addresses: ["10.0.0.9"], conditions: { ready: true } }];
    const type = "application/merge-patch+json";
    const { status } = await admin.request("PATCH", `${slices}/web-1`, { endpoints }, type);
    assert.equal(status, 200);
    await relays[1]?.kill();
    relays[1] = await start("b");
    const next = await agreed("/routes", (text) => text.includes("10.0.0.9"));
    assert.equal(next.trim().split("\n").length, 1);
    const backends = await agreed("/views/backends", (text) => text.includes("10.0.0.9"));
    assert.doesNotMatch(backends, /10\.0\.0\.1"/);
  });
});

async function readerToken(admin: KubeHttp): Promise<string> {
  const group = "rbac.authorization.k8s.io";
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await admin.request("POST", accounts, { metadata: { name: "reader" } });
  await admin.request("POST", `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: "reader" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "view" },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
  });
  const { body } = await admin.request("POST", `${accounts}/reader/token`, { spec: {} });
  return String(body["status"]?.["token"]);
}
