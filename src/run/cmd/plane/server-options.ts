/** An API server's options from its flags. Every fault of a flag is reported before anything is opened. */
import { given } from "#base/given.ts";
import { choiceFault, type PluginChoice } from "#admission/plugin-choice.ts";
import type { TokenLifetimes } from "#auth/token-request.ts";
import { StaticTokens } from "#auth/token-file.ts";
import { heapBytesMax } from "#platform/node/heap.ts";
import { issuerDefault } from "./access.ts";
import { type AuthorizationSetup, authorizationSetup } from "./authorization/setup.ts";
import { tokenWebhookSetup } from "./authentication/token-webhook.ts";
import { authenticationSetup } from "./authentication/setup.ts";
import { admissionConfiguration } from "./admission-configuration.ts";
import { aggregationAccess } from "./aggregation.ts";
import type { ApiServerFlags } from "./flags.ts";
import { openAudit } from "../shared/audit.ts";
import { openEncryption } from "../shared/encryption.ts";
import type { Host } from "../shared/host.ts";
import { kubeletAccess } from "./kubelets.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { Parts } from "../shared/parts.ts";
import type { PlaneOptions } from "./options.ts";
import { frontProxyTrust } from "./request-header.ts";
import { servedResources } from "./runtime-config.ts";
import { enabledGates } from "../shared/stock-flags/feature-gates.ts";
import { servingOptions } from "../shared/serving-flags.ts";
import { stateQuota } from "./state-quota.ts";
import type { Tracing } from "./tracing/setup.ts";
import { UsageError } from "../shared/usage-error.ts";

type ServerOptions = Partial<PlaneOptions> & Pick<PlaneOptions, "anonymousPaths">;

/** Returns the options. An audit log, where configured, is added to `parts`. Throws UsageError. */
export async function serverOptions(
  host: Host,
  flags: ApiServerFlags & { readonly serviceAccountIssuer?: readonly string[] },
  parts: Parts,
  auditOf: typeof openAudit = openAudit,
): Promise<ServerOptions> {
  const resources = servedResources(flags.runtimeConfig, enabledGates(flags.featureGates ?? []));
  const staticTokens = staticTokensOf(flags);
  const kubelet = kubeletAccess(flags);
  const aggregation = aggregationAccess(flags);
  const frontProxy = frontProxyTrust(flags);
  const authentication = await authenticationSetup(flags, issuersOf(flags));
  const tokenWebhook = await tokenWebhookSetup(flags);
  const authorization = await authorizationSetup(flags);
  const admissionPlugins = pluginChoice(flags);
  const serving = servingOptions(flags);
  const admission = admissionConfiguration(flags.admissionControlConfigFile, admissionPlugins);
  const audit = await auditOf(host, flags, parts);
  const encryption = await openEncryption(host, flags, parts);
  const tracing = await tracingOf(host, flags, parts);
  return {
    resources,
    featureGates: flags.featureGates ?? [],
    kubelet,
    aggregation,
    admissionPlugins,
    admission,
    authorization,
    anonymousPaths: anonymousPaths(host, flags, authorization),
    serving,
    compactPeriodMs: flags.compactEvery * 1000,
    stateQuota: stateQuota(flags, heapBytesMax()),
    ...given({ frontProxy, authentication, tokenWebhook }),
    tokenLifetimes: tokenLifetimes(host, flags),
    ...apiAudiencesOf(flags),
    ...given({ audit, encryption, tracing, staticTokens }),
  };
}

async function tracingOf(
  host: Host,
  { tracingConfigFile: path }: ApiServerFlags,
  parts: Parts,
): Promise<Tracing | undefined> {
  if (path === undefined) return undefined;
  const { openTracing } = await import("./tracing/setup.ts");
  return openTracing(host, path, parts);
}

/** Logs upstream's warnings about flags that do not fit together. */
function tokenLifetimes({ log }: Host, flags: ApiServerFlags): TokenLifetimes {
  const maxSeconds = Math.floor(flags.serviceAccountMaxTokenExpiration / 1_000);
  const extend = flags.serviceAccountExtendTokenExpiration;
  if (extend && maxSeconds > 0 && maxSeconds < 3_607)
    log.warn(
      `service-account-extend-token-expiration is true, in order to correctly trigger safe transition logic, service-account-max-token-expiration must be set longer than 3607 seconds (currently ${maxSeconds}s)`,
    );
  if (extend && maxSeconds > 0 && maxSeconds < 31_536_000)
    log.warn(
      `service-account-extend-token-expiration is true, enabling tokens valid up to 31536000 seconds, which is longer than service-account-max-token-expiration set to ${maxSeconds}s`,
    );
  return { maxSeconds, extend };
}

function issuersOf({
  serviceAccountIssuer: given = [],
}: {
  readonly serviceAccountIssuer?: readonly string[];
}): readonly string[] {
  return given.length === 0 ? [issuerDefault] : given;
}

function apiAudiencesOf({ apiAudiences }: ApiServerFlags): Pick<PlaneOptions, "apiAudiences"> {
  return apiAudiences === undefined || apiAudiences.length === 0 ? {} : { apiAudiences };
}

/** @throws UsageError */
function anonymousPaths(
  { log }: Host,
  { anonymousAuth, anonymousPaths: paths }: ApiServerFlags,
  { first }: AuthorizationSetup,
): ApiServerFlags["anonymousPaths"] {
  if (anonymousAuth !== false && first.some(({ type }) => type === "AlwaysAllow")) {
    log.warn(
      "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer",
    );
    return [];
  }
  if (anonymousAuth !== false) return paths;
  if (paths === "all") return [];
  throw new UsageError("--anonymous-auth=false leaves no paths for --anonymous-paths");
}

/** @throws UsageError for an unknown name. */
function pluginChoice(flags: ApiServerFlags): PluginChoice {
  const { enableAdmissionPlugins: enable, disableAdmissionPlugins: disable } = flags;
  const fault = choiceFault({ enable, disable });
  if (fault !== undefined) throw new UsageError(fault);
  return { enable, disable };
}

function staticTokensOf({ tokenAuthFile }: ApiServerFlags): StaticTokens | undefined {
  if (tokenAuthFile === undefined) return undefined;
  const text = readOperatorFile(tokenAuthFile);
  try {
    return new StaticTokens(text);
  } catch (error) {
    throw new UsageError(`--token-auth-file ${tokenAuthFile}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
