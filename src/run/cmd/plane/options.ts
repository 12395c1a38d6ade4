/** The options of a plane, apart from its host. */
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
  /** Images that hollow nodes cannot pull. Absent: the default of the hollow nodes. */
  readonly unpullable?: ImagePatterns;
  /** Pods per second that the scheduler and the controllers may move on their own. Absent: no limit. */
  readonly recovery?: RecoveryLimits;
  /** Devices of hollow nodes. Absent: none. */
  readonly devices?: HollowDevices;
  /** Failures of hollow nodes and their times. Absent: none. */
  readonly failures?: readonly ScheduledFailure[];
  /** Address of the kubelets of hollow nodes. Absent: hollow nodes have no kubelet endpoint. */
  readonly hollowKubelets?: KubeletAddress;
  /** Stages that hollow nodes run. Absent: none. */
  readonly stages?: StagePlan;
  /** Whether this server serves metrics.k8s.io for hollow nodes. Absent: it does. */
  readonly hasHollowMetrics?: boolean;
  /** Minimum time for which history is kept, in milliseconds. Absent: the value in limits.ts. */
  readonly compactPeriodMs?: number;
  /** TLS, headers, seats and timeouts of the port. Absent: upstream's defaults. */
  readonly serving?: ServingOptions;
  /** Threads that serve the port in place of this one. Absent: this thread serves it. */
  readonly workers?: WorkersPlan;
  /** Returns the /metrics page of all threads. Absent: the page of this thread only. */
  readonly metricsPage?: () => Promise<readonly Uint8Array[]>;
  readonly audit?: Audit;
  /** Lines of `--token-auth-file`. */
  readonly staticTokens?: StaticTokens;
  /** Front proxies that may name users in headers. Absent: none. */
  readonly frontProxy?: FrontProxyTrust;
  /** Connection settings for kubelets. Absent: their advertised addresses, without a check of their certificates. */
  readonly kubelet?: KubeletAccess;
  /** The caller's own connections to nodes in place of `kubelet`. They are closed at the stop. */
  readonly kubelets?: OpenedKubelets;
  /** Connection settings for aggregated API servers. Absent: their endpoints, with the front proxy's certificate. */
  readonly aggregation?: AggregationAccess;
  /** Built-in kinds that are served. Absent: every version of all of them. */
  readonly resources?: readonly ResourceInfo[];
  /** Feature gates of the flags, for the metrics only. Absent: every gate that can be switched is off. */
  readonly featureGates?: readonly string[];
  /** Admission plugins. Absent: upstream's default plugins and NodeRestriction. */
  readonly admissionPlugins?: PluginChoice;
  /** Configurations of plugins. Absent: none. */
  readonly admission?: AdmissionConfiguration;
  /** Transport to webhooks in place of connections over this host's network. */
  readonly webhooks?: OpenTransport;
  /** Issuers of tokens, and the paths for anonymous requests. Absent: no issuers. */
  readonly authentication?: AuthenticationSetup;
  /** Paths where a request without a credential is system:anonymous instead of a 401. Absent: everywhere. */
  readonly anonymousPaths?: readonly string[] | "all";
  /** Configured authorizers. Absent: Node and RBAC. */
  readonly authorization?: AuthorizationSetup;
  /** Whether tokens of bootstrap Secrets are accepted. Absent: they are. */
  readonly hasBootstrapTokens?: boolean;
  /** Returns the CA that signs certificate requests. It is read for each one. Absent: the CA of `pki`. */
  readonly signingAuthority?: (signer: string) => IssuedCertificate;
  /** Signer names that this CA signs for. Absent: all of kubernetes.io. */
  readonly signers?: ReadonlySet<string>;
  /** Maximum lifetime of such a certificate. Absent: the value in limits.ts. */
  readonly signingLifetimeMs?: number;
  /** CA in PEM by which pods check this server. Absent: the CA of `pki`. */
  readonly rootCa?: string;
  /** Address of this server in Endpoints `kubernetes`. Absent: `host`, unless that is loopback. */
  readonly advertiseAddress?: string;
  /** Files of certificates and CAs that may be replaced while the plane serves. Absent: none. */
  readonly servingFiles?: ServingFiles;
  /** Files of keys that check service account tokens, which may be replaced while the plane serves. Absent: none. */
  readonly tokenKeyFiles?: TokenKeyFiles;
  /** CAs of client certificates in PEM. Absent: the CA of `pki`. */
  readonly clientCa?: string;
  /** Issuer of service account tokens. Absent: the default in access.ts. */
  readonly issuer?: string;
  /** Further issuers whose service account tokens are accepted. Absent: none. */
  readonly olderIssuers?: readonly string[];
  /** URL of the keys of these tokens for other programs. Absent: a path of the issuer. */
  readonly keysUrl?: string;
  /** Tracing of requests. Absent: no spans are recorded. */
  readonly tracing?: Tracing;
  /** Limits of the lifetime of service account tokens. Absent: tokens live as long as requested. */
  readonly tokenLifetimes?: TokenLifetimes;
  /** Audiences of tokens for this server. Absent: the issuers. */
  readonly apiAudiences?: readonly string[];
  /** Webhook that reviews tokens unknown to this server. Absent: none. */
  readonly tokenWebhook?: TokenWebhookSetup;
  /** Ranges of Service addresses and node ports. Absent: the values in limits.ts. */
  readonly serviceAddresses?: ServiceAddressOptions;
  /** Time to live of events. Absent: the value in limits.ts. */
  readonly eventTtlSeconds?: number;
  /** Host name of this server in its identity lease. Absent: it has no such lease. */
  readonly identity?: string;
  /** Whether other API servers share the storage, so that Endpoints `kubernetes` lists all holders of a master lease. */
  readonly isOneOfSeveral?: boolean;
  /** "none": the API alone, without scheduler, controllers or nodes. Absent: all of them. */
  readonly loops?: "none";
}
