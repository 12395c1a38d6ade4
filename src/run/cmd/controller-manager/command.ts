/** The command `pilothouse controller-manager` and its flags. */
import { type Command, InvalidArgumentError } from "commander";
import { unknownController } from "#controllers/controller-names.ts";
import { legacyTokenPeriodMs } from "#controllers/legacytokens/cleaner.ts";
import { nodeLifecycleDefaults } from "#controllers/nodelifecycle/options.ts";
import { boolean, duration, integer, nameList } from "../shared/flag-values.ts";
import { signingLifetimeMs } from "../shared/limits.ts";
import { addRecoveryFlag } from "../shared/recovery.ts";
import { addRoleFlags } from "../shared/role-flags.ts";
import { addAutoscalingFlags } from "./autoscaling-flags.ts";
import { addWorkerFlags } from "./worker-flags.ts";
import { addNodeRangeFlags } from "./node-ranges.ts";
import type { ControllerManagerFlags } from "./flags.ts";
import { kubeControllerManagerFlags } from "../shared/stock-flags/kube-controller-manager.ts";
import { addStockFlags } from "../shared/stock-flags/stock-flag.ts";
import { version } from "../shared/user-agent.ts";

export function addControllerManager(program: Command): void {
  const command = program
    .command("controller-manager")
    .version(`Kubernetes ${version.gitVersion}`, "--version", "print the version and exit")
    .description(
      "run the controllers before any Kubernetes API server, in place of kube-controller-manager",
    )
    .option(
      "--controllers <list>",
      "which to run: * for all, NAME for one, -NAME for all but it; names are upstream's, as deployment-controller, or older ones",
      controllerList,
      ["*"],
    )
    .option(
      "--use-service-account-credentials [boolean]",
      "each controller acts as its own service account of kube-system; false: all as the kubeconfig's user",
      boolean,
      false,
    )
    .option(
      "--root-ca-file <file>",
      "authority that pods check the API server by, PEM; absent: the kubeconfig's",
    )
    .option(
      "--service-account-private-key-file <file>",
      "signs the tokens of Secrets of type kubernetes.io/service-account-token, PEM; absent: they are not filled",
    )
    .option(
      "--legacy-service-account-token-clean-up-period <duration>",
      "unused for which such a token is marked as invalid, and marked for which it is deleted",
      duration,
      legacyTokenPeriodMs,
    );
  addSigningFlags(command);
  addNodeFlags(command);
  addNodeRangeFlags(command);
  addAutoscalingFlags(command);
  addWorkerFlags(command);
  addRecoveryFlag(command);
  addRoleFlags(command, { lease: "kube-controller-manager", port: 10_257 });
  addStockFlags(command, kubeControllerManagerFlags);
  command
    .addHelpText(
      "after",
      `
Examples:
  pilothouse controller-manager --kubeconfig controller-manager.conf --use-service-account-credentials
  pilothouse controller-manager --kubeconfig controller-manager.conf \\
    --cluster-signing-cert-file ca.crt --cluster-signing-key-file ca.key      signs certificate requests too
  pilothouse controller-manager --controllers '*,-horizontal-pod-autoscaler-controller' --kubeconfig controller-manager.conf`,
    )
    .action(async (flags: ControllerManagerFlags) => {
      const { controllerManagerRole } = await import("../controller-manager/run.ts");
      await controllerManagerRole(flags);
    });
}

function addNodeFlags(command: Command): void {
  const { monitorMs, graceMs, startupGraceMs, ...rates } = nodeLifecycleDefaults;
  command
    .option(
      "--node-monitor-period <duration>",
      "between two looks at all nodes",
      duration,
      monitorMs,
    )
    .option(
      "--node-monitor-grace-period <duration>",
      "without a sign of life after which a node is not ready",
      duration,
      graceMs,
    )
    .option(
      "--node-startup-grace-period <duration>",
      "the same of a node that has not been ready yet",
      duration,
      startupGraceMs,
    )
    .option(
      "--node-eviction-rate <number>",
      "nodes a second of a zone that are given up",
      rate,
      rates.evictionsPerSecond,
    )
    .option(
      "--secondary-node-eviction-rate <number>",
      "the same of a large zone that is partly lost; a small one gives up none",
      rate,
      rates.secondaryEvictionsPerSecond,
    )
    .option(
      "--unhealthy-zone-threshold <share>",
      "of not ready nodes, at least three, from which on a zone is partly lost",
      share,
      rates.unhealthyShare,
    )
    .option(
      "--large-cluster-size-threshold <count>",
      "nodes beyond which a zone is large",
      integer("count", 0, 1_000_000),
      rates.largeZoneNodes,
    )
    .option(
      "--terminated-pod-gc-threshold <count>",
      "finished pods that are kept; 0: all",
      integer("count", 0, 2 ** 31 - 1),
      12_500,
    );
}

function rate(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 100_000) return value;
  throw new InvalidArgumentError("a number from 0 to 100000.");
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError("a number from 0 to 1.");
}

function addSigningFlags(command: Command): void {
  command
    .option(
      "--cluster-signing-cert-file <file>",
      "authority that signs certificate requests, PEM; absent: nothing is signed",
    )
    .option("--cluster-signing-key-file <file>", "its private key, PEM")
    .option(
      "--cluster-signing-duration <duration>",
      "longest lifetime of a signed certificate",
      duration,
      signingLifetimeMs,
    );
  for (const signer of [
    "kubelet-serving",
    "kubelet-client",
    "kube-apiserver-client",
    "legacy-unknown",
  ]) {
    command
      .option(
        `--cluster-signing-${signer}-cert-file <file>`,
        `authority of the signer ${signer} alone, PEM`,
      )
      .option(`--cluster-signing-${signer}-key-file <file>`, "its private key, PEM");
  }
}

function controllerList(text: string): readonly string[] {
  const chosen = nameList(text);
  const unknown = unknownController(chosen);
  if (unknown === undefined) return chosen;
  const what = JSON.stringify(unknown);
  throw new InvalidArgumentError(`${what} is not in the list of known controllers.`);
}
