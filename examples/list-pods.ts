/** Starts a control plane in this process, connects to it by its kubeconfig, and prints its Pods from an informer. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControlPlane } from "pilothouse";
import { connect } from "pilothouse/client";
import type { Pod } from "pilothouse/client/types";

const plane = await startControlPlane({ nodes: 0 });
const directory = mkdtempSync(join(tmpdir(), "list-pods-"));
const kubeconfig = join(directory, "config");
writeFileSync(kubeconfig, plane.kubeconfig, { mode: 0o600 });

const api = await connect({ kubeconfig });
const ref = { group: "", version: "v1", resource: "pods" };
const spec = { containers: [{ name: "main", image: "example" }] };
await api.client.create<Pod>(ref, "default", { metadata: { name: "hello" }, spec });

const stop = new AbortController();
const pods = api.informers.informer<Pod>(ref);
const running = api.informers.run(stop.signal);
await pods.synced;
for (const pod of pods.values()) console.log(`${pod.metadata?.namespace}/${pod.metadata?.name}`);

stop.abort();
await running;
api.close();
await plane.stop();
rmSync(directory, { recursive: true });
