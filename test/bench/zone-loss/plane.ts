/** A control plane as processes of its own, or as `pilothouse up`, with hollow nodes in three zones, for the bench of herds. */
import { join } from "node:path";
import { removeDirectory, startUp, temporaryDirectory } from "../../process/harness.ts";
import { credentialsOf, KubeHttp } from "../../process/kube-http.ts";
import { type RunningRole, startRole } from "../../process/role-harness.ts";

export interface Plane {
  readonly admin: KubeHttp;
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/**
 * Nodes are given up as soon as they are not ready: the budget alone, or nothing, slows the herd. The grace period is upstream's: with
 * a shorter one a busy machine loses nodes by itself.
 */
const eager = [
  "--node-monitor-period=2s",
  "--node-eviction-rate=10000",
  "--secondary-node-eviction-rate=10000",
];
const alone = ["--leader-elect=false", "--secure-port", "0"];

export async function startPlane(nodes: number, budget: string): Promise<Plane> {
  const directory = temporaryDirectory("zone-loss");
  const data = join(directory, "data");
  const conf = (name: string): readonly string[] => ["--kubeconfig", join(data, name)];
  const roles: RunningRole[] = [];
  const start = async (...args: readonly string[]): Promise<void> => {
    roles.push(await startRole(args));
  };
  const recovery = ["--recovery-budget", budget];
  try {
    await start("apiserver", "--data-dir", data, "--secure-port", "0");
    await start("hollow", ...conf("kubeconfig"), "--nodes", String(nodes));
    const manager = ["controller-manager", ...conf("controller-manager.conf")];
    const key = join(data, "pki", "sa.key");
    const accounts = [
      "--use-service-account-credentials",
      "--service-account-private-key-file",
      key,
    ];
    await start(...manager, ...accounts, ...recovery, ...eager, ...alone);
    await start("scheduler", ...conf("scheduler.conf"), ...recovery, ...alone);
  } catch (error) {
    for (const role of roles) await role.kill();
    removeDirectory(directory);
    throw error;
  }
  const kubeconfig = join(data, "kubeconfig");
  const admin = new KubeHttp(credentialsOf(kubeconfig));
  return {
    admin,
    kubeconfig,
    async stop() {
      admin.close();
      for (const role of roles.toReversed()) await role.kill();
      removeDirectory(directory);
    },
  };
}

/** All in one process. */
export async function startOneProcess(nodes: number, budget: string): Promise<Plane> {
  const directory = temporaryDirectory("zone-loss");
  const data = ["--data-dir", join(directory, "data"), "--port", "0"];
  const up = await startUp([...data, "--nodes", String(nodes), "--recovery-budget", budget]);
  const admin = new KubeHttp(credentialsOf(up.kubeconfig));
  return {
    admin,
    kubeconfig: up.kubeconfig,
    async stop() {
      admin.close();
      await up.kill();
      removeDirectory(directory);
    },
  };
}
