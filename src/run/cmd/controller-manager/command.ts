/** The command `pilothouse controller-manager`, with what its flags mean. */
import { type Command, InvalidArgumentError } from "commander";
import { unknownController } from "#controllers/controller-names.ts";
import { boolean, duration, nameList } from "../shared/flag-values.ts";
import { signingLifetimeMs } from "../shared/limits.ts";
import { addRoleFlags } from "../shared/role-flags.ts";
import type { ControllerManagerFlags } from "./flags.ts";

export function addControllerManager(program: Command): void {
  const command = program
    .command("controller-manager")
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
    );
  addSigningFlags(command);
  addRoleFlags(command, { lease: "kube-controller-manager", port: 10_257 });
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
