/** The command `pilothouse apiserver` and its flags. */
import { type Command, InvalidArgumentError } from "commander";
import { addApiServerFlags } from "../plane/flags.ts";
import {
  boolean,
  duration,
  durationOrZero,
  integer,
  nameList,
  gathered,
} from "../shared/flag-values.ts";
import { eventTtlSeconds, serviceAddresses } from "../shared/limits.ts";
import { kubeApiServerFlags } from "../shared/stock-flags/kube-apiserver.ts";
import { addStockFlags } from "../shared/stock-flags/stock-flag.ts";
import { version } from "../shared/user-agent.ts";
import type { ApiServerRoleFlags } from "./flags.ts";
import { egressSelector } from "./egress-selector.ts";

export function addApiServer(program: Command): void {
  const command = program
    .command("apiserver")
    .version(`Kubernetes ${version.gitVersion}`, "--version", "print the version and exit")
    .description("serve the Kubernetes API alone, in place of kube-apiserver and its etcd")
    .option(
      "--data-dir <dir>",
      "where everything is kept; made when missing; absent: pilothouse in --cert-dir, else .pilothouse",
    )
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
      "checks service account tokens, PEM, given again for more, read again when it changes; absent: the signing key",
      gathered,
      [],
    )
    .option(
      "--service-account-issuer <name>",
      "of service account tokens; given again, those of the others are good, too (default: https://kubernetes.default.svc.cluster.local)",
      gathered,
      [],
    )
    .option(
      "--service-account-jwks-uri <url>",
      "where others get the keys of these tokens, in the discovery document; https (default: /openid/v1/jwks of the issuer)",
    )
    .option(
      "--egress-selector-config-file <file>",
      "how nodes, webhooks and etcd are reached: an EgressSelectorConfiguration (apiserver.k8s.io) whose selections are all Direct",
      egressSelector,
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
    .option(
      "--enable-bootstrap-token-auth [boolean]",
      "tokens of Secrets of type bootstrap.kubernetes.io/token in kube-system name system:bootstrap:ID",
      boolean,
      true,
    )
    .option("--allow-privileged [boolean]", "privileged pods may be made", allowPrivileged, true);
  addApiServerFlags(command);
  addStockFlags(command, kubeApiServerFlags);
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
      const { apiServerRole } = await import("./run.ts");
      await apiServerRole(flags);
    });
}

function allowPrivileged(text: string): boolean {
  if (boolean(text)) return true;
  throw new InvalidArgumentError(
    "privileged pods are taken here; refuse them by namespace with the levels of Pod Security.",
  );
}
