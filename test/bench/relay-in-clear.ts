/** A relay of ConfigMaps as a process of its own, in the clear on loopback, and a token that may read there. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { bound } from "../process/bound-child.ts";
import { root } from "../process/harness.ts";
import type { KubeHttp } from "../process/kube-http.ts";

export interface ClearRelay {
  readonly port: number;
  readonly child: ChildProcess;
}

export async function startRelay(upstream: string): Promise<ClearRelay> {
  const launcher = join(root, "bin", "pilothouse.mjs");
  const args = ["relay", "--upstream", upstream, "--resources", "configmaps"];
  const all = [launcher, ...args, "--listen", "127.0.0.1:0"];
  const child = bound(spawn(process.execPath, all, { stdio: ["ignore", "pipe", "inherit"] }));
  let printed = "";
  const port = await new Promise<number>((resolve, reject) => {
    child.on("exit", () => reject(new Error(`the relay ended: ${printed}`)));
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const found = /listens\s+http:\/\/127\.0\.0\.1:(\d+)[\s\S]*frontends/.exec(printed)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
  });
  return { port, child };
}

export async function readerToken(admin: KubeHttp): Promise<string> {
  const apiGroup = "rbac.authorization.k8s.io";
  await admin.request("POST", `/apis/${apiGroup}/v1/clusterrolebindings`, {
    metadata: { name: "bench-reader" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
  });
  const account = "/api/v1/namespaces/default/serviceaccounts/default";
  const { body } = await admin.request("POST", `${account}/token`, { spec: {} });
  return String(body["status"]?.["token"]);
}
