/** The commands of the roles that are clients of an API server, with what their flags mean. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { electionTimes } from "#client/election.ts";
import { imagePatterns } from "#hollow/image-pull.ts";
import { unpullableDefault } from "#hollow/options.ts";
import {
  boolean,
  duration,
  durationOrZero,
  integer,
  logLevelOption,
  nameList,
  patterns,
} from "../flag-values.ts";
import { unknownController } from "#controllers/controller-names.ts";
import type { AuthorizationMode } from "../access.ts";
import { addApiServerFlags } from "../api-flags.ts";
import { eventTtlSeconds, nodesMax, serviceAddresses, signingLifetimeMs } from "../limits.ts";
import type { ApiServerRoleFlags } from "./apiserver.ts";
import type { ControllerManagerFlags } from "./controller-manager.ts";
import type { HollowFlags } from "./hollow.ts";
import type { RoleFlags, SchedulerFlags } from "./flags.ts";

export function addRoles(program: Command): void {
  addApiServer(program);
  addScheduler(program);
  addControllerManager(program);
  addHollow(program);
  addSink(program);
}

function addApiServer(program: Command): void {
  const command = program
    .command("apiserver")
    .description("serve the Kubernetes API alone, in place of kube-apiserver and its etcd")
    .option("--data-dir <dir>", "where everything is kept; made when missing", ".pilothouse")
    .option(
      "--etcd-servers <urls>",
      "keep everything in this etcd cluster, in kube-apiserver's keys and encoding, comma separated; others may serve it too",
      nameList,
      [],
    )
    .option(
      "--etcd-servers-overrides <entries>",
      "resources that live in etcd clusters of their own, as /events#https://10.0.0.4:2379;https://10.0.0.5:2379 or apps/*#..., comma separated",
      nameList,
      [],
    )
    .option(
      "--accept-etcd-placement",
      "resources were moved: the entries of --etcd-servers-overrides are other ones than before, and meant",
      false,
    )
    .option("--etcd-prefix <path>", "what its keys begin with", "/registry")
    .option("--etcd-cafile <file>", "authorities of the cluster's certificates, PEM")
    .option("--etcd-certfile <file>", "certificate to show to it, PEM")
    .option("--etcd-keyfile <file>", "its private key, PEM")
    .option(
      "--etcd-compaction-interval <duration>",
      "between two compactions of that cluster, in turns with its other servers; 0: others compact",
      durationOrZero,
      300_000,
    )
    .option("--bind-address <address>", "address to listen on", "127.0.0.1")
    .option(
      "--secure-port <port>",
      "port to listen on; 0 takes any free one",
      integer("port", 0, 65_535),
      6443,
    )
    .option(
      "--tls-cert-file <file>",
      "certificate chain to show, PEM; absent: the data directory's own",
    )
    .option("--tls-private-key-file <file>", "its private key, PEM")
    .option(
      "--cert-dir <dir>",
      "where apiserver.crt and apiserver.key are, or are made, signed by nobody else; not used with --tls-cert-file",
    )
    .option(
      "--client-ca-file <file>",
      "authorities whose client certificates count, PEM; absent: the data directory's own",
    )
    .option(
      "--service-account-signing-key-file <file>",
      "signs service account tokens, PEM; absent: the data directory's own",
    )
    .option(
      "--service-account-key-file <file>",
      "checks service account tokens, PEM, given again for more; absent: the signing key",
      gathered,
      [],
    )
    .option(
      "--service-account-issuer <name>",
      "of service account tokens (default: https://kubernetes.default.svc.cluster.local)",
    )
    .option(
      "--service-cluster-ip-range <cidr>",
      "addresses of Services, IPv4",
      serviceAddresses.range,
    )
    .option(
      "--service-node-port-range <first-last>",
      "node ports of Services",
      `${serviceAddresses.firstNodePort}-${serviceAddresses.lastNodePort}`,
    )
    .option("--event-ttl <duration>", "how long Events are kept", duration, eventTtlSeconds * 1_000)
    .addOption(
      new Option("--authorization-mode <list>", "who may do what; nothing else is built in")
        .argParser(authorizationMode)
        .default(["Node", "RBAC"], "Node,RBAC"),
    )
    .option(
      "--enable-bootstrap-token-auth [boolean]",
      "tokens of Secrets of type bootstrap.kubernetes.io/token in kube-system name system:bootstrap:ID",
      boolean,
      true,
    )
    .option("--allow-privileged [boolean]", "privileged pods may be made", allowPrivileged, true)
    .addOption(featureGates());
  addApiServerFlags(command);
  command
    .addHelpText(
      "after",
      `
Examples:
  pilothouse apiserver --data-dir data                                      then, each in a process of its own:
  pilothouse scheduler --kubeconfig data/scheduler.conf
  pilothouse controller-manager --kubeconfig data/controller-manager.conf --use-service-account-credentials \\
    --service-account-private-key-file data/pki/sa.key
  pilothouse hollow --kubeconfig data/kubeconfig --nodes 100
  kube-scheduler --kubeconfig data/scheduler.conf                           or a stock component in place of any`,
    )
    .action(async (flags: ApiServerRoleFlags) => {
      const { apiServerRole } = await import("./apiserver.ts");
      await apiServerRole(flags);
    });
}

function addScheduler(program: Command): void {
  const command = program
    .command("scheduler")
    .description("schedule the pods of any Kubernetes API server, in place of kube-scheduler")
    .option(
      "--config <file>",
      "a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1); what it says overrides flags",
    );
  addRoleFlags(command, { lease: "kube-scheduler", port: 10_259 });
  command
    .addHelpText(
      "after",
      `
Examples:
  pilothouse scheduler --kubeconfig scheduler.conf        one of several: the holder of Lease kube-scheduler works
  pilothouse scheduler --leader-elect=false --secure-port 0 --kubeconfig scheduler.conf
  curl -k https://127.0.0.1:10259/readyz                  is it well`,
    )
    .action(async (flags: SchedulerFlags) => {
      const { schedulerRole } = await import("./scheduler.ts");
      await schedulerRole(flags);
    });
}

function addControllerManager(program: Command): void {
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
      const { controllerManagerRole } = await import("./controller-manager.ts");
      await controllerManagerRole(flags);
    });
}

function addHollow(program: Command): void {
  const kubelets = program
    .command("hollow")
    .description(
      "register hollow nodes at any Kubernetes API server: what kubelets say, without containers",
    )
    .option("--nodes <count>", "how many", integer("count", 1, nodesMax), 10)
    .option(
      "--first-index <number>",
      "index of the first: several processes share a cluster by ranges",
      integer("number", 0, 10_000_000),
      0,
    )
    .option("--name-prefix <text>", "nodes are named this and their index", namePrefix, "hollow-")
    .option("--zones <count>", "zones the nodes are dealt over", integer("count", 1, 1_000), 3)
    .option("--pods <count>", "pods a node takes", integer("count", 1, 10_000), 110)
    .option("--cpu <quantity>", "of a node", "8")
    .option("--memory <quantity>", "of a node", "32Gi")
    .addOption(
      new Option(
        "--image-pull-error <patterns>",
        'images that cannot be pulled, comma separated, * for any text; "" for none',
      )
        .argParser(patterns)
        .default(imagePatterns(unpullableDefault), `"${unpullableDefault}"`),
    );
  addApiFlags(kubelets);
  kubelets
    .addHelpText(
      "after",
      `
The kubeconfig's user writes Nodes, their Leases and the status of all Pods: an administrator, or a role made for it.

Examples:
  pilothouse hollow --kubeconfig admin.conf --nodes 1000
  pilothouse hollow --kubeconfig admin.conf --nodes 1000 --first-index 1000     a further thousand`,
    )
    .action(async (flags: HollowFlags) => {
      const { hollowRole } = await import("./hollow.ts");
      await hollowRole(flags);
    });
}

function addApiFlags(command: Command): void {
  command
    .option(
      "--kubeconfig <file>",
      "how to reach the API server, and as whom; absent: a Pod's own service account, or what kubectl would read",
    )
    .addOption(logLevelOption())
    .addOption(featureGates());
}

function addSink(program: Command): void {
  const command = program
    .command("sink")
    .description(
      "write every change of chosen objects into NATS JetStream, Redis Streams or to HTTP",
    )
    .argument("<file>", "the sinks, as docs/sinks.md shows");
  addRoleFlags(command, { lease: "pilothouse-sink", port: 10_266 });
  command
    .addHelpText(
      "after",
      `
Examples:
  pilothouse sink sinks.yaml --kubeconfig sink.conf       one of several: the holder of Lease pilothouse-sink writes
  curl -k https://127.0.0.1:10266/readyz                  is every sink written to

A file that writes pods into Redis:
  sinks:
    - name: pods
      redis: {url: "redis://127.0.0.1:6379", stream: "k8s:{resource}"}
      resources: [{resource: v1/pods}]`,
    )
    .action(async (file: string, flags: RoleFlags) => {
      const { sinkRole } = await import("../sinks/role.ts");
      await sinkRole(file, flags);
    });
}

function addRoleFlags(
  command: Command,
  { lease, port }: { readonly lease: string; readonly port: number },
): void {
  addApiFlags(command);
  command
    .option("--leader-elect [boolean]", "work only while holding the Lease", boolean, true)
    .option("--leader-elect-resource-name <name>", "of the Lease", lease)
    .option("--leader-elect-resource-namespace <name>", "of the Lease", "kube-system")
    .option(
      "--leader-elect-lease-duration <duration>",
      "after which others may take a Lease that is not renewed",
      duration,
      electionTimes.leaseDurationMs,
    )
    .option(
      "--leader-elect-renew-deadline <duration>",
      "after which the leader stops when it cannot renew",
      duration,
      electionTimes.renewDeadlineMs,
    )
    .option(
      "--leader-elect-retry-period <duration>",
      "between two tries",
      duration,
      electionTimes.retryPeriodMs,
    )
    .option("--bind-address <address>", "where health and metrics are served", "127.0.0.1")
    .option(
      "--secure-port <port>",
      "of health and metrics; 0: none",
      integer("port", 0, 65_535),
      port,
    )
    .option(
      "--tls-cert-file <file>",
      "certificate of that port, PEM; absent: one made at the start",
    )
    .option("--tls-private-key-file <file>", "its private key, PEM");
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

function featureGates(): Option {
  const text = "refused: features are those of 1.36 by default";
  return new Option("--feature-gates <list>", text).argParser(refuseGates);
}

function controllerList(text: string): readonly string[] {
  const chosen = nameList(text);
  const unknown = unknownController(chosen);
  if (unknown === undefined) return chosen;
  const what = JSON.stringify(unknown);
  throw new InvalidArgumentError(`${what} is not in the list of known controllers.`);
}

function authorizationMode(text: string): readonly AuthorizationMode[] {
  const modes = text.split(",");
  const known = modes.filter((mode) => mode === "Node" || mode === "RBAC");
  const others = modes.filter((mode) => mode !== "Node" && mode !== "RBAC");
  if (others.length > 0)
    throw new InvalidArgumentError(
      `${others.join(", ")} is not built in: the modes are Node and RBAC.`,
    );
  const twice = known.find((mode, at) => known.indexOf(mode) !== at);
  if (twice === undefined) return known;
  const what = JSON.stringify(twice);
  throw new InvalidArgumentError(`authorization-mode ${what} has mode specified more than once.`);
}

function allowPrivileged(text: string): boolean {
  if (boolean(text)) return true;
  throw new InvalidArgumentError(
    "privileged pods are taken here; refuse them by namespace with the levels of Pod Security.",
  );
}

/** Of a flag that may be given again. */
function gathered(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

function refuseGates(text: string): never {
  const gates = text.split(",").map((gate) => gate.split("=")[0]);
  throw new InvalidArgumentError(
    `${gates.join(", ")}: features are those that 1.36 has on by default, and cannot be switched.`,
  );
}

function namePrefix(text: string): string {
  if (/^[a-z0-9]([-a-z0-9.]{0,60})$/.test(text)) return text;
  throw new InvalidArgumentError(
    "a prefix is lower-case letters, digits, - and ., and begins with a letter or digit.",
  );
}
