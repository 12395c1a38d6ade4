/**
 * An operator: for each Website a ConfigMap with its page, and a condition that says so.
 * Run: `KUBECONFIG=... node operator.ts`, with `website-crd.json` applied. SIGTERM ends it.
 */
import { connect } from "pilothouse/client";
import { withCondition, type Condition } from "pilothouse/client/conditions";
import { createController } from "pilothouse/client/controller";
import type { KubeObject } from "pilothouse/client/object";
import { controllerReference } from "pilothouse/client/owner";
import type { ConfigMap } from "pilothouse/client/types";

interface Website extends KubeObject {
  readonly spec: { readonly title: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const websites = { group: "example.com", version: "v1", resource: "websites" };
const configMaps = { group: "", version: "v1", resource: "configmaps" };
const gvk = { group: "example.com", version: "v1", kind: "Website" };

const api = await connect({ name: "website-operator" });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const controller = createController<Website>(api, {
  name: "website",
  ref: websites,
  owns: [configMaps],
  workers: 2,
  election: { namespace: "default", name: "website-operator", identity: `operator-${process.pid}` },
  async reconcile({ object }) {
    // The garbage collector deletes the page of a Website that is gone.
    if (object?.metadata === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { name = "", namespace = "" } = object.metadata;
    const page: ConfigMap = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace, ownerReferences: [controllerReference(gvk, object)] },
      data: { "index.html": `<h1>${object.spec.title}</h1>` },
    };
    const owner = { fieldManager: "website-operator", force: true };
    await api.client.patch(configMaps, namespace, name, "apply", page, owner);
    const old = object.status?.conditions ?? [];
    const lastTransitionTime = new Date().toISOString();
    const ready = { type: "Ready", status: "True", reason: "Written", lastTransitionTime };
    const conditions = withCondition(old, ready);
    if (conditions === old) return;
    const patch = { status: { conditions } };
    await api.client.patch(websites, namespace, name, "merge", patch, { subresource: "status" });
  },
});

await Promise.all([api.informers.run(stop.signal), controller.run(stop.signal)]);
api.close();
