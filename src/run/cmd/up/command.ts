/** The command `pilothouse up` and its flags. */
import { type Command, Option } from "commander";
import { imagePatterns } from "#hollow/image-pull.ts";
import { unpullableDefault } from "#hollow/options.ts";
import { addApiServerFlags } from "../plane/flags.ts";
import { addNodeGroupFlags } from "../shared/node-group-role.ts";
import { addStageFlags } from "../shared/stage-flags.ts";
import { boolean, duration, integer, patterns } from "../shared/flag-values.ts";
import { nodesMax, signingLifetimeMs } from "../shared/limits.ts";
import { addRecoveryFlag } from "../shared/recovery.ts";
import { mirroredByDefault } from "../relay/command.ts";
import type { UpFlags } from "./flags.ts";

/** Declares every flag of the command, in the order of --help. */
export function addUp(program: Command): void {
  const up = program
    .command("up")
    .description(
      "start a whole control plane in this process: API server, store, scheduler, controllers, hollow nodes",
    )
    .option("--data-dir <dir>", "where everything is kept; made when missing", ".pilothouse")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--port <number>",
      "port to listen on; 0 takes any free one",
      integer("port", 0, 65_535),
      6443,
    )
    .option("--nodes <count>", "hollow nodes to register", integer("count", 0, nodesMax), 10)
    .option(
      "--hollow-node-groups <file>",
      "YAML: groups of hollow nodes that an autoscaler grows and shrinks, served as cluster-autoscaler's externalgrpc provider; see docs/autoscaler.md",
    )
    .option(
      "--gangs",
      "serve PodGroups and Workloads of scheduling.k8s.io/v1alpha2, which 1.36 has off, and place groups of pods as a whole; as --runtime-config and --feature-gates of kube-apiserver would; see docs/gangs.md",
    )
    .option(
      "--devices <file>",
      "YAML: devices of hollow nodes, published as ResourceSlices of one DeviceClass; see docs/devices.md",
    )
    .addOption(
      new Option(
        "--image-pull-error <patterns>",
        'images that hollow nodes cannot pull, comma separated, * for any text; "" for none. Nothing is pulled or run: ' +
          "what a container does is read off its command line, not off a script's environment",
      )
        .argParser(patterns)
        .default(imagePatterns(unpullableDefault), `"${unpullableDefault}"`),
    )
    .option(
      "--hollow-metrics [boolean]",
      "metrics.k8s.io of hollow nodes, for kubectl top and autoscalers, unless an APIService leads to a metrics server",
      boolean,
      true,
    )
    .option(
      "--cluster-signing-cert-file <file>",
      "authority that signs certificate requests, PEM; absent: the data directory's own",
    )
    .option("--cluster-signing-key-file <file>", "its private key, PEM")
    .option("--cluster-signing-kubelet-serving-cert-file <file>", ownSigner("kubelet-serving"))
    .option("--cluster-signing-kubelet-serving-key-file <file>", "its private key, PEM")
    .option(
      "--cluster-signing-kubelet-client-cert-file <file>",
      ownSigner("kube-apiserver-client-kubelet"),
    )
    .option("--cluster-signing-kubelet-client-key-file <file>", "its private key, PEM")
    .option(
      "--cluster-signing-kube-apiserver-client-cert-file <file>",
      ownSigner("kube-apiserver-client"),
    )
    .option("--cluster-signing-kube-apiserver-client-key-file <file>", "its private key, PEM")
    .option("--cluster-signing-legacy-unknown-cert-file <file>", ownSigner("legacy-unknown"))
    .option("--cluster-signing-legacy-unknown-key-file <file>", "its private key, PEM")
    .option(
      "--cluster-signing-duration <duration>",
      "longest lifetime of a signed certificate, as 8760h or 30m",
      duration,
      signingLifetimeMs,
    )
    .option(
      "--root-ca-file <file>",
      "authority that pods check this server by, PEM; absent: the data directory's own",
    )
    .option(
      "--relay <address:port>",
      "also serve through a relay here, for clients that come in crowds",
    )
    .option("--relay-resources <list>", "what that relay mirrors, or all", mirroredByDefault)
    .option(
      "--xds-listen <address:port>",
      "where that relay serves Envoy and proxyless gRPC (xDS)",
    );

  addRecoveryFlag(up);
  addNodeGroupFlags(up);
  addStageFlags(up, "hollow-");
  addApiServerFlags(up);

  up.addHelpText(
    "after",
    `
Examples:
  pilothouse up                              a cluster of 10 hollow nodes, data in ./.pilothouse
  pilothouse up --nodes 1000 --port 0        a thousand nodes, any free port
  pilothouse up --relay 127.0.0.1:6444       a crowd may watch there, the API server sees one watch
  export KUBECONFIG=.pilothouse/kubeconfig   then: kubectl get nodes`,
  ).action(async (options: UpFlags) => {
    const { up } = await import("./run.ts");
    await up(options);
  });
}

function ownSigner(signer: string): string {
  return `authority of the signer kubernetes.io/${signer} alone, PEM; signers without one then sign nothing`;
}
