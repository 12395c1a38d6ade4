/** The flags of an API server, which runs alone (`apiserver`) or in one process with the other components (`up`). */
import { type Command, InvalidArgumentError } from "commander";
import type { LogLevel } from "#platform/node/log.ts";
import type { AggregationFlags } from "./aggregation.ts";
import { addAuditFlags, type AuditFlags } from "../shared/audit-flags.ts";
import { addEncryptionFlags, type EncryptionFlags } from "../shared/encryption-flags.ts";
import { addAuthorizationFlags, type AuthorizationFlags } from "./authorization/flags.ts";
import { addAuthenticationFlags, type AuthenticationFlags } from "./authentication/flags.ts";
import {
  boolean,
  commaList,
  integer,
  ipAddress,
  logLevelOption,
  nameList,
} from "../shared/flag-values.ts";
import type { KubeletFlags } from "./kubelets.ts";
import { compactEverySeconds } from "../shared/limits.ts";
import type { RequestHeaderFlags } from "./request-header.ts";
import {
  addServingFlags,
  addServingWorkers,
  addWatchLimits,
  type ServingFlags,
} from "../shared/serving-flags.ts";
import type { QuotaFlags } from "./state-quota.ts";
import { featureGates } from "../shared/role-flags.ts";
import { runtimeConfig, type RuntimeConfig } from "./runtime-config.ts";

export interface ApiServerFlags
  extends
    AuditFlags,
    EncryptionFlags,
    KubeletFlags,
    AggregationFlags,
    RequestHeaderFlags,
    QuotaFlags,
    AuthenticationFlags,
    AuthorizationFlags,
    ServingFlags {
  /** Path of the tracing configuration. Absent: no spans are recorded. */
  readonly tracingConfigFile?: string;
  readonly compactEvery: number;
  readonly logLevel: LogLevel;
  readonly tokenAuthFile?: string;
  readonly anonymousPaths: readonly string[] | "all";
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
  readonly admissionControlConfigFile?: string;
  readonly advertiseAddress?: string;
  readonly runtimeConfig: RuntimeConfig;
  readonly featureGates?: readonly string[];
}

export function addApiServerFlags(command: Command): void {
  addServerFlags(command);
  addAuditFlags(command);
  addEncryptionFlags(command);
  command.option(
    "--tracing-config-file <file>",
    "spans of requests to an OpenTelemetry collector: a TracingConfiguration (apiserver.config.k8s.io/v1)",
  );
  addServingFlags(command);
  addServingWorkers(command);
  addWatchLimits(command);
  addKubeletFlags(command);
  addAggregationFlags(command);
  addRequestHeaderFlags(command);
  addAuthenticationFlags(command);
  addAuthorizationFlags(command);
}

function addServerFlags(command: Command): void {
  command
    .option(
      "--compact-every <seconds>",
      "history kept at least for watchers and lists that go on; what is older is forgotten",
      integer("seconds", 1, 1_000_000),
      compactEverySeconds,
    )
    .option(
      "--quota-backend-bytes <bytes>",
      "bytes of stored objects, in the store of this process; beyond it creates answer that the database space is exceeded; absent: an eighth of what the heap may take",
      integer("bytes", 1, Number.MAX_SAFE_INTEGER),
    )
    .option(
      "--quota-objects <count>",
      "the same for the number of stored objects; absent: one for every 16 KiB that the heap may take",
      integer("count", 1, Number.MAX_SAFE_INTEGER),
    )
    .addOption(logLevelOption())
    .option(
      "--token-auth-file <file>",
      'bearer tokens, one a line: token,user,uid,"group1,group2"; read at the start',
    )
    .option(
      "--anonymous-paths <list>",
      "where a request without credentials is system:anonymous, comma separated; all: everywhere; elsewhere it is 401",
      anonymousPaths,
      "all",
    )
    .option(
      "--enable-admission-plugins <list>",
      "admission plugins beside the default ones, comma separated: AlwaysPullImages, DenyServiceExternalIPs, EventRateLimit, ExtendedResourceToleration, OwnerReferencesPermissionEnforcement, PodNodeSelector, PodTolerationRestriction",
      nameList,
      [],
    )
    .option(
      "--admission-control-config-file <file>",
      "configurations of admission plugins: an AdmissionConfiguration (apiserver.config.k8s.io/v1)",
    )
    .option(
      "--disable-admission-plugins <list>",
      "default admission plugins that do not run, comma separated",
      nameList,
      [],
    )
    .option(
      "--advertise-address <ip>",
      "where nodes and pods reach this server; absent: --host, or the host's first address that is no loopback",
      ipAddress,
    )
    .option(
      "--runtime-config <list>",
      "built-in APIs to switch on or off, comma separated: GROUP/VERSION=true|false, GROUP/VERSION/RESOURCE=..., api/all=..., api/ga=..., api/beta=..., api/alpha=...; without it GA versions are served",
      runtimeConfig,
      new Map<string, string>(),
    )
    .addOption(featureGates());
}

function addKubeletFlags(command: Command): void {
  command
    .option(
      "--kubelet-certificate-authority <file>",
      "PEM authorities of the kubelets' certificates, which are checked only with it",
    )
    .option(
      "--kubelet-client-certificate <file>",
      "PEM certificate to show to kubelets, instead of one of the cluster's authority",
    )
    .option("--kubelet-client-key <file>", "its private key, PEM")
    .option(
      "--kubelet-preferred-address-types <list>",
      "which of a node's addresses its kubelet is reached at, the first it has (default: InternalIP,ExternalIP,Hostname,InternalDNS,ExternalDNS)",
    )
    .option("--kubelet-timeout <duration>", "how long connecting to a kubelet may take", "5s");
}

function addAggregationFlags(command: Command): void {
  command
    .option(
      "--proxy-client-cert-file <file>",
      "PEM certificate to show to aggregated API servers, instead of the data directory's front proxy's",
    )
    .option("--proxy-client-key-file <file>", "its private key, PEM")
    .option(
      "--enable-aggregator-routing <boolean>",
      "reach aggregated API servers at the endpoints of their Services; false: at the cluster IP, which something else must route",
      boolean,
      true,
    );
}

function addRequestHeaderFlags(command: Command): void {
  command
    .option(
      "--requestheader-client-ca-file <file>",
      "PEM authorities of front proxies, which name the user of a request in headers",
    )
    .option(
      "--requestheader-allowed-names <list>",
      "common names that a front proxy may have; none: any",
      commaList,
      [],
    )
    .option(
      "--requestheader-username-headers <list>",
      "headers that name the user, as X-Remote-User",
      commaList,
      [],
    )
    .option(
      "--requestheader-uid-headers <list>",
      "headers with the user's UID, as X-Remote-Uid",
      commaList,
      [],
    )
    .option(
      "--requestheader-group-headers <list>",
      "headers that name groups, as X-Remote-Group",
      commaList,
      [],
    )
    .option(
      "--requestheader-extra-headers-prefix <list>",
      "beginnings of headers with extra facts, as X-Remote-Extra-",
      commaList,
      [],
    );
}

/** Parses a list of paths. A path that ends in `/` covers all paths below it. */
function anonymousPaths(text: string): readonly string[] | "all" {
  if (text === "all") return text;
  const paths = text.split(",").filter((path) => path !== "");
  if (paths.every((path) => path.startsWith("/"))) return paths;
  throw new InvalidArgumentError("each path starts with a slash.");
}
