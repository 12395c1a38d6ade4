/** A whole plane in this process, a webhook server beside it, and the clients that tests drive: kubectl and client-node. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { kubeconfigYaml } from "#auth/kubeconfig.ts";
import { ensurePki } from "#auth/pki-files.ts";
import * as limits from "#cmd/shared/limits.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeDisk } from "#platform/node/disk.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { bound } from "../process/bound-child.ts";
import * as harness from "../process/harness.ts";
import { openWebhookWorld, type WebhookWorld } from "./webhook-world.ts";

export interface ClientWorld extends WebhookWorld {
  readonly config: KubeConfig;
  /** Of an administrator. Words are split at blanks. */
  kubectl(args: string, input?: object | string): Promise<Ran>;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function openClientWorld(): Promise<ClientWorld> {
  const directory = harness.temporaryDirectory("clients");
  const host = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk() };
  const { serviceAddress } = limits;
  const keys = { ...host, log: silentLog, extraHosts: ["127.0.0.1"], serviceAddress };
  const pki = ensurePki(join(directory, "pki"), keys);
  const world = await openWebhookWorld({ pki });
  const yaml = kubeconfigYaml({
    cluster: "clients",
    user: "admin",
    server: world.plane.url,
    ca: pki.authority.certificate,
    cert: pki.admin.certificate,
    key: pki.admin.privateKey,
  });
  const kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, yaml, { mode: 0o600 });
  const config = new KubeConfig();
  config.loadFromString(yaml);
  const env = harness.kubectlEnvironment(kubeconfig, directory);
  return {
    ...world,
    config,
    /** The plane is in this process: nothing may wait for kubectl synchronously. */
    async kubectl(args, input = "") {
      const child = bound(spawn(harness.findKubectl() ?? "", args.split(" "), { env }));
      const ran = { out: "", err: "" };
      child.stdout.on("data", (chunk: Buffer) => (ran.out += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => (ran.err += chunk.toString()));
      child.stdin.end(typeof input === "string" ? input : JSON.stringify(input));
      const [code] = (await once(child, "close")) as [number];
      return { ...ran, code };
    },
    async stop() {
      await world.stop();
      harness.removeDirectory(directory);
    },
  };
}
