/** What decides a plane, beyond the host it runs on. */
import type { Tracing } from "./tracing/setup.ts";
import type { TokenLifetimes } from "#auth/token-request.ts";
import type { AuthenticationSetup } from "./authentication/setup.ts";
import type { TokenKeyFiles } from "./access.ts";
import type { ServingFiles } from "./authentication/serving-files.ts";
import type { TokenWebhookSetup } from "./authentication/token-webhook.ts";
import type { AuthorizationSetup } from "./authorization/setup.ts";
import type { ServiceAddressOptions } from "#admission/service-addresses.ts";
import type { PluginChoice } from "#admission/plugin-choice.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { IssuedCertificate } from "#auth/pki.ts";
import type { Pki } from "#auth/pki-files.ts";
import type { StaticTokens } from "#auth/token-file.ts";
import type { OpenTransport } from "#extension/webhooks/trusts.ts";
import type { RecoveryLimits } from "#client/recovery-rate.ts";
import type { HollowDevices } from "#hollow/devices.ts";
import type { ScheduledFailure } from "#hollow/failure-schedule.ts";
import type { ImagePatterns } from "#hollow/image-pull.ts";
import type { KubeletAddress } from "../shared/hollow-kubelet.ts";
import type { StagePlan } from "../shared/hollow-stages.ts";
import type { Audit } from "#server/audit/trail.ts";
import type { AdmissionConfiguration } from "./admission-configuration.ts";
import type { AggregationAccess } from "./aggregation.ts";
import type { KubeletAccess, OpenedKubelets } from "./kubelets.ts";
import type { StoreOptions } from "./stores.ts";
import type { FrontProxyTrust } from "./request-header.ts";
import type { ServingOptions } from "../shared/serving-flags.ts";
import type { WorkersPlan } from "./workers/plan.ts";

export interface PlaneOptions extends StoreOptions {
  readonly pki: Pki;
  readonly host: string;
  readonly port: number;
  readonly nodes: number;
  /** Images that hollow nodes cannot pull; absent: as the room has it. */
  readonly unpullable?: ImagePatterns;
  /** Pods a second that scheduler and controllers move by themselves; absent: not paced. */
  readonly recovery?: RecoveryLimits;
  /** What devices hollow nodes have; absent: none. */
  readonly devices?: HollowDevices;
  /** What goes wrong with hollow nodes, and when; absent: nothing. */
  readonly failures?: readonly ScheduledFailure[];
  /** Where the kubelets of hollow nodes are served; absent: they have none. */
  readonly hollowKubelets?: KubeletAddress;
  /** Stages that hollow nodes play; absent: none. */
  readonly stages?: StagePlan;
  /** metrics.k8s.io of hollow nodes is answered here; absent: it is. */
  readonly hasHollowMetrics?: boolean;
  /** History kept at least; absent: as limits.ts has it. */
  readonly compactPeriodMs?: number;
  /** TLS, headers, seats and times of the port; absent: upstream's defaults. */
  readonly serving?: ServingOptions;
  /** Threads that serve the port in place of this one; absent: this one serves it. */
  readonly workers?: WorkersPlan;
  /** /metrics of all threads; absent: this one's alone. */
  readonly metricsPage?: () => Promise<readonly Uint8Array[]>;
  readonly audit?: Audit;
  /** Lines of `--token-auth-file`. */
  readonly staticTokens?: StaticTokens;
  /** Front proxies that may name users in headers; absent: none. */
  readonly frontProxy?: FrontProxyTrust;
  /** How kubelets are reached; absent: as they say, their certificates unchecked. */
  readonly kubelet?: KubeletAccess;
  /** Instead of what `kubelet` says: the caller's own way to nodes; closed at the stop. */
  readonly kubelets?: OpenedKubelets;
  /** How aggregated API servers are reached; absent: at their endpoints, by the front proxy's certificate. */
  readonly aggregation?: AggregationAccess;
  /** Built-in kinds that are served; absent: every version of all of them. */
  readonly resources?: readonly ResourceInfo[];
  /** As flags set them; absent: those that may be switched are off. For the metrics alone. */
  readonly featureGates?: readonly string[];
  /** Absent: upstream's default plugins, and NodeRestriction. */
  readonly admissionPlugins?: PluginChoice;
  /** Configurations of plugins; absent: none. */
  readonly admission?: AdmissionConfiguration;
  /** Instead of connections over this host's network to webhooks. */
  readonly webhooks?: OpenTransport;
  /** Issuers of tokens, and where anonymous may go; absent: no issuers. */
  readonly authentication?: AuthenticationSetup;
  /** Where a request without a credential is system:anonymous, and not 401; absent: everywhere. */
  readonly anonymousPaths?: readonly string[] | "all";
  /** Who is asked what a user may do; absent: Node and RBAC. */
  readonly authorization?: AuthorizationSetup;
  /** Whether tokens of bootstrap Secrets count; absent: they do. */
  readonly hasBootstrapTokens?: boolean;
  /** What certificate requests are signed by, read at each; absent: the authority of `pki`. */
  readonly signingAuthority?: (signer: string) => IssuedCertificate;
  /** Signers that it signs for; absent: all of kubernetes.io. */
  readonly signers?: ReadonlySet<string>;
  /** The longest lifetime of such a certificate; absent: as limits.ts has it. */
  readonly signingLifetimeMs?: number;
  /** PEM of the authority that pods check this server by; absent: that of `pki`. */
  readonly rootCa?: string;
  /** Where Endpoints `kubernetes` says the server is; absent: `host`, unless that is loopback. */
  readonly advertiseAddress?: string;
  /** Of certificates and authorities that may be replaced while it serves; absent: none is. */
  readonly servingFiles?: ServingFiles;
  /** Of keys that check service account tokens, which may be replaced while it serves; absent: none is. */
  readonly tokenKeyFiles?: TokenKeyFiles;
  /** PEM: authorities of client certificates; absent: the authority of `pki`. */
  readonly clientCa?: string;
  /** Of service account tokens; absent: as access.ts has it. */
  readonly issuer?: string;
  /** Whose service account tokens are good beside it; absent: nobody's. */
  readonly olderIssuers?: readonly string[];
  /** Where others get the keys of these tokens; absent: a path of the issuer. */
  readonly keysUrl?: string;
  /** Spans of requests; absent: none are made. */
  readonly tracing?: Tracing;
  /** How long service account tokens live; absent: as they are asked for. */
  readonly tokenLifetimes?: TokenLifetimes;
  /** Audiences of tokens for this server; absent: the issuers. */
  readonly apiAudiences?: readonly string[];
  /** A server that is asked about tokens that nobody here knows; absent: none. */
  readonly tokenWebhook?: TokenWebhookSetup;
  /** Absent: as limits.ts has them. */
  readonly serviceAddresses?: ServiceAddressOptions;
  /** Absent: as limits.ts has it. */
  readonly eventTtlSeconds?: number;
  /** Host by which this server is known to others, in an identity lease; absent: it has none. */
  readonly identity?: string;
  /** Other API servers serve the same storage: Endpoints `kubernetes` lists all that hold a master lease. */
  readonly isOneOfSeveral?: boolean;
  /** The API alone: no scheduler, controllers or nodes. Absent: all of them. */
  readonly loops?: "none";
}
