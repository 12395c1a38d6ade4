/** The identity lease: its name is upstream's; it is renewed while the server serves, and deleted when it stops. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { silentLog } from "#platform/log.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { ServerIdentity } from "./server-identity.ts";
import { ask, type Plane, withPlane } from "./testing/plane.ts";

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver" };

function leaseOf(name: string, renewTime: string, more: object = { labels }): object {
  const spec = { holderIdentity: "x", leaseDurationSeconds: 3_600, renewTime };
  const kind = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
  return { ...kind, metadata: { name, ...more }, spec };
}

async function namesOf(plane: Plane): Promise<readonly string[]> {
  const { json } = await ask(plane, "GET", leases);
  return (json["items"] as readonly AnyObject[]).map(({ metadata }) => metadata?.name ?? "");
}

test("the lease is renewed, those of lost servers are deleted, and at the stop it is gone", () =>
  withPlane(async (plane) => {
    const { clock } = plane;
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } };
    await ask(plane, "POST", "/api/v1/namespaces", { body: namespace });
    const long = "2020-01-01T00:00:00.000000Z";
    const others = [leaseOf("apiserver-lost", long), leaseOf("kube-scheduler", long, {})];
    for (const body of others)
      assert.equal((await ask(plane, "POST", leases, { body })).status, 201);
    const random = new FakeRandom(7);
    const deps = { catalog: plane.server.catalog, clock, random, log: silentLog };
    const identity = new ServerIdentity(deps, "vm");
    identity.start();
    await clock.advance(0);
    // The name that kube-apiserver 1.36 gives a host called vm.
    const own = "apiserver-wlv32tlttr4jl3gtroqexyxapa";
    assert.deepEqual(await namesOf(plane), [own, "kube-scheduler"]);
    const renewed = async (): Promise<unknown> =>
      ((await ask(plane, "GET", `${leases}/${own}`)).json["spec"] as { renewTime: string })
        .renewTime;
    const before = await renewed();
    await clock.advance(10_000);
    assert.notEqual(await renewed(), before);
    await identity.close();
    assert.deepEqual(await namesOf(plane), ["kube-scheduler"]);
    assert.equal(clock.armed().includes("apiserver.identity"), false);
  }));
