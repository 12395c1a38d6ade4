/**
 * A compromised node against a whole control plane: what it creates, reads, writes and asks tokens for is
 * answered as stock kube-apiserver 1.36.3 answers it.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { given } from "#base/given.ts";
import { type AttackedServer, openPlane, openStock } from "./attacked-plane.ts";
import { findPeer, noPeer } from "../process/peers.ts";
import { until } from "../process/stock-apiserver.ts";
import { credentialCases, mirrorCases, readCases, writeCases } from "./node-cases.ts";
import { mirrorPod, n1, nodeWorld, patch, team } from "./node-world.ts";
import { type Answers, compareAnswers, type Known, prepare, shown } from "./recorded.ts";
import answers from "./answers/nodes.json" with { type: "json" };

const stock = findPeer("kube-apiserver");

describe("a compromised node", () => {
  let server: AttackedServer;
  let uid: Known;

  before(async () => {
    server = await openPlane();
    uid = await prepare(server, nodeWorld);
  });
  after(() => server?.stop());

  test("makes no mirror pod that names another object", () =>
    compareAnswers(server, uid, mirrorCases, answers.mirror));

  test("reads what its pods refer to, and nothing that its mirror pods name", () =>
    compareAnswers(server, uid, readCases, answers.read));

  test("writes its own objects, and of those only what is its own", () =>
    compareAnswers(server, uid, writeCases, answers.write));

  test("gets tokens and certificates for its own pods and their audiences", () =>
    compareAnswers(server, uid, credentialCases, answers.credential));

  test("changes nothing of a claim but what kubelets report", async () => {
    const path = `${team}/persistentvolumeclaims/mine/status`;
    for (const body of [
      { metadata: { labels: { a: "b" } } },
      { metadata: { finalizers: ["example.com/stay"] } },
      { metadata: { annotations: { a: "b" } } },
      { status: { phase: "Lost" } },
      { spec: { volumeName: "pv-theirs" } },
    ]) {
      const answer = await server.request(patch(path, body)());
      assert.match(
        shown(answer),
        /^403 persistentvolumeclaims "mine" is forbidden: node "n1" is not allowed to update fields other than status.quantity and status.conditions: /,
      );
    }
  });

  test("spends no disruption budget of a pod it may not evict", async () => {
    const budgets = "/apis/policy/v1/namespaces/team/poddisruptionbudgets";
    const selector = { matchLabels: { app: "theirs" } };
    const budget = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "b" },
    };
    await server.request({
      method: "POST",
      path: budgets,
      body: { ...budget, spec: { minAvailable: 0, selector } },
    });
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: 1,
      desiredHealthy: 0,
      expectedPods: 1,
    };
    await server.request({
      method: "PATCH",
      path: `${budgets}/b/status`,
      body: { status },
      type: "application/merge-patch+json",
    });
    await server.request({
      method: "PATCH",
      path: `${team}/pods/theirs/status`,
      body: { status: { phase: "Running" } },
      type: "application/merge-patch+json",
    });
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "theirs" } };
    const path = `${team}/pods/theirs/eviction`;
    const refused = await server.request({ as: n1, method: "POST", path, body: eviction });
    assert.equal(refused.status, 403);
    const kept = await server.request({ method: "GET", path: `${budgets}/b` });
    assert.equal(kept.body["status"]?.["disruptionsAllowed"], 1);
    assert.equal(kept.body["status"]?.["disruptedPods"], undefined);
  });

  test("is told by an access review what it may list", () => reviewsSelectors(server));

  test("reads no secret by creating a mirror pod, whatever the order", async () => {
    const body = mirrorPod(uid, {
      volumes: [
        { name: "v", csi: { driver: "d.example.com", nodePublishSecretRef: { name: "crown" } } },
      ],
    });
    const made = await server.request({ as: n1, method: "POST", path: `${team}/pods`, body });
    assert.equal(made.status, 403);
    const read = await server.request({ as: n1, method: "GET", path: `${team}/secrets/crown` });
    assert.equal(read.status, 403);
  });
});

describe(
  "the recorded answers are those of a stock server",
  {
    skip: stock === undefined ? noPeer("kube-apiserver") : false,
  },
  () => {
    let server: AttackedServer;
    let uid: Known;

    before(async () => {
      server = await openStock(stock ?? "");
      uid = await prepare(server, nodeWorld);
      // Its authorizer and plugins look at informers, which follow the writes.
      await follows(server, uid);
    });
    after(() => server?.stop());

    for (const [name, cases, recorded] of [
      ["mirror pods", mirrorCases, answers.mirror],
      ["reads", readCases, answers.read],
      ["writes", writeCases, answers.write],
      ["credentials", credentialCases, answers.credential],
    ] as const) {
      test(name, () => compareAnswers(server, uid, cases, recorded));
    }

    test("access reviews", () => reviewsSelectors(server));
  },
);

const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

async function reviewsSelectors(server: AttackedServer): Promise<void> {
  const isAllowed = async (fieldSelector?: object): Promise<unknown> => {
    const resourceAttributes = {
      verb: "list",
      resource: "pods",
      ...given({ fieldSelector }),
    };
    const spec = { user: n1.name, groups: n1.groups, resourceAttributes };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    const answer = await server.request({ method: "POST", path: reviews, body });
    return answer.body["status"]?.["allowed"];
  };
  const requirement = (operator: string, ...values: string[]) => ({
    requirements: [{ key: "spec.nodeName", operator, values }],
  });
  assert.equal(await isAllowed({ rawSelector: "spec.nodeName=n1" }), true);
  assert.equal(await isAllowed(requirement("In", "n1")), true);
  assert.equal(await isAllowed(), false);
  assert.equal(await isAllowed({ rawSelector: "spec.nodeName=n2" }), false);
  assert.equal(await isAllowed({ rawSelector: "spec.nodeName" }), false);
  assert.equal(await isAllowed(requirement("NotIn", "n1")), false);
  assert.equal(await isAllowed(requirement("In", "n1", "n2")), false);
}

/** Waits until everything that a stock server lets through gets through. */
function follows(server: AttackedServer, uid: Known): Promise<void> {
  const recorded: Answers = { ...answers.read, ...answers.credential };
  const allowed = [...readCases, ...credentialCases].filter(
    ({ title }) => recorded[title]?.startsWith("2") === true,
  );
  return until("the informers have seen all objects", async () => {
    const seen = await Promise.all(allowed.map(({ attack }) => server.request(attack(uid))));
    return seen.every(({ status }) => status < 300);
  });
}
