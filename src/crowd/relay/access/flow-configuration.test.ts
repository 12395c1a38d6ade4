/** What the relay's seats go by: the upstream's objects as they are mirrored. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { relayLimits } from "../limits.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import { createRelay } from "../relay.ts";
import { ClusterTransport, FakeCluster } from "../testing/fake-cluster.ts";
import { podKind } from "../testing/fake-upstream.ts";
import { plainGet, relayDeps } from "../testing/relay-fixture.ts";

const group = "flowcontrol.apiserver.k8s.io";
const kindOf = (resource: string, kind: string): MirroredKind => ({
  group,
  version: "v1",
  resource,
  kind,
  namespaced: false,
  apiVersion: `${group}/v1`,
});
const schemas = kindOf("flowschemas", "FlowSchema");
const levels = kindOf("prioritylevelconfigurations", "PriorityLevelConfiguration");
const pods = "/api/v1/pods?resourceVersion=0";

const teamLevel = {
  apiVersion: `${group}/v1`,
  kind: "PriorityLevelConfiguration",
  metadata: { name: "team", uid: "uid-of-team" },
  spec: {
    type: "Limited",
    limited: { nominalConcurrencyShares: 10, limitResponse: { type: "Reject" } },
  },
};
const teamSchema = {
  apiVersion: `${group}/v1`,
  kind: "FlowSchema",
  metadata: { name: "team", uid: "uid-of-schema" },
  spec: {
    priorityLevelConfiguration: { name: "team" },
    matchingPrecedence: 1,
    rules: [
      {
        subjects: [{ kind: "User", user: { name: "ann" } }],
        resourceRules: [
          {
            verbs: ["list"],
            apiGroups: [""],
            resources: ["pods"],
            namespaces: ["*"],
            clusterScope: true,
          },
        ],
      },
    ],
  },
};

void it("levels and schemas of the upstream count from the moment the relay sees them", async () => {
  const clock = new FakeClock();
  const cluster = new FakeCluster();
  const upstream = new ClusterTransport(cluster);
  const relay = createRelay(relayDeps(clock, upstream), {
    resources: [podKind, schemas, levels],
    views: [],
    consistency: "cache",
    limits: relayLimits,
    seats: 100,
  });
  await clock.advance(100);
  const levelOf = async (): Promise<string | undefined> => {
    const answer = relay.handler(plainGet(pods));
    await clock.advance(10);
    const { status, headers } = await answer;
    assert.equal(status, 200);
    return headers["x-kubernetes-pf-prioritylevel-uid"] as string | undefined;
  };
  assert.equal(await levelOf(), "", "of the configuration that every cluster starts with");
  cluster.put(`/apis/${group}/v1/prioritylevelconfigurations`, teamLevel);
  cluster.put(`/apis/${group}/v1/flowschemas`, teamSchema);
  upstream.deliver();
  await clock.advance(100);
  assert.equal(await levelOf(), "uid-of-team");
  cluster.remove(`/apis/${group}/v1/flowschemas`, "/team");
  upstream.deliver();
  await clock.advance(100);
  assert.equal(await levelOf(), "");
  const stopped = relay.stop();
  upstream.close();
  await clock.advance(100_000);
  await stopped;
});
