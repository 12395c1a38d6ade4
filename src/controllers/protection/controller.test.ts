/** Claims and volumes being deleted go when nothing uses them, and not before. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { startControlPlane } from "#cmd/embed.ts";

const claimsRef = { group: "", version: "v1", resource: "persistentvolumeclaims" };
const volumesRef = { group: "", version: "v1", resource: "persistentvolumes" };
const podsRef = { group: "", version: "v1", resource: "pods" };

test("a claim outlives the pod that uses it, and a volume without a claim goes at once", async () => {
  const plane = await startControlPlane({ nodes: 0 });
  const { client } = plane;
  const resources = { requests: { storage: "1Gi" } };
  const claim = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources },
  };
  await client.create(claimsRef, "default", claim);
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
  const pod: Pod = {
    metadata: { name: "user" },
    spec: { containers: [{ name: "c", image: "i" }], volumes },
  };
  await untilDone(() => client.create(podsRef, "default", pod));
  await client.delete(claimsRef, "default", "data");
  const volume = {
    metadata: { name: "pv" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/x" },
    },
  };
  await client.create(volumesRef, "", volume);
  await client.delete(volumesRef, "", "pv");
  await untilDone(() => assert.rejects(client.get(volumesRef, "", "pv"), /not found/));
  const held = await client.get(claimsRef, "default", "data");
  assert.notEqual(held.metadata?.deletionTimestamp, undefined);
  await client.delete(podsRef, "default", "user", { gracePeriodSeconds: 0 });
  await untilDone(() => assert.rejects(client.get(claimsRef, "default", "data"), /not found/));
  await plane.stop();
});

/** Tries until it succeeds; the loops run in this process, so a turn of the event loop lets them go on. */
async function untilDone(action: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await action();
      return;
    } catch (error) {
      if (tries === 2000) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
