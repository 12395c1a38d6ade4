/** The flags of authorizers, read and checked at the start before anything is opened. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  readAuthorization,
} from "#auth/configuration/authorization.ts";
import { ConfigurationError } from "#auth/configuration/shape.ts";
import {
  abacRefusal,
  type CompiledAuthorizer,
  compileAuthorization,
} from "#auth/webhooks/authorization-validation.ts";
import {
  type FileWords,
  readConfigurationFile,
  type ReadFile,
} from "../authentication/configuration-file.ts";
import { usable } from "../authentication/setup.ts";
import { UsageError } from "../../shared/usage-error.ts";
import type { AuthorizationFlags } from "./flags.ts";
import { connectReviews, type ReviewConnection } from "./review-connection.ts";

export type ConnectedAuthorizer =
  | Exclude<CompiledAuthorizer, { readonly type: "Webhook" }>
  | (Extract<CompiledAuthorizer, { readonly type: "Webhook" }> & {
      readonly connection: ReviewConnection;
    });

export interface AuthorizationSetup {
  readonly first: readonly ConnectedAuthorizer[];
  /** Configuration file. Absent: flags define the configuration, which then does not change. */
  readonly file?: ReadFile<readonly ConnectedAuthorizer[]>;
}

const modesDefault = ["Node", "RBAC"];
const known: ReadonlySet<string> = new Set([
  "ABAC",
  "AlwaysAllow",
  "AlwaysDeny",
  "Node",
  "RBAC",
  "Webhook",
]);

/** Reads the configuration. Rejects with UsageError with upstream's text. */
export function authorizationSetup(flags: AuthorizationFlags): Promise<AuthorizationSetup> {
  const { authorizationConfig: path } = flags;
  return usable(async () => {
    if (path !== undefined) return fromFile(path, flags);
    const configuration = fromFlags(flags);
    try {
      return { first: await connected(compileAuthorization(configuration, () => undefined)) };
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const message = `invalid authorization config: ${error.message}`;
      throw new ConfigurationError(message, { cause: error });
    }
  });
}

async function fromFile(path: string, flags: AuthorizationFlags): Promise<AuthorizationSetup> {
  const { authorizationConfig: _, ...others } = flags;
  const isSaidTwice = Object.entries(others).some(
    ([name, value]) => name.startsWith("authorization") && value !== undefined,
  );
  if (isSaidTwice) {
    throw new UsageError(
      "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
    );
  }
  const read = (value: unknown): Promise<readonly ConnectedAuthorizer[]> =>
    connected(compileAuthorization(decoded(value), fileFault));
  const file = await readConfigurationFile({ path, what: "authorization", words, read });
  const { first } = file;
  const reread = async (value: unknown): Promise<readonly ConnectedAuthorizer[]> =>
    withoutNew(first, await read(value));
  return { first, file: { ...file, read: reread } };
}

const words: FileWords = {
  unread: (why) => why,
  malformed: (why) => `failed to load AuthorizationConfiguration from file: ${why}`,
};

function decoded(value: unknown): AuthorizationConfiguration {
  try {
    return readAuthorization(value);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(words.malformed(error.message), { cause: error });
  }
}

/** Like upstream, refuses to add Node or RBAC later, because their data is collected only from the start on. */
function withoutNew(
  first: readonly ConnectedAuthorizer[],
  next: readonly ConnectedAuthorizer[],
): readonly ConnectedAuthorizer[] {
  for (const { type } of next) {
    const isLate = (type === "Node" || type === "RBAC") && !first.some((one) => one.type === type);
    if (!isLate) continue;
    const why = "is not allowed if it was not enabled at initial server startup";
    throw new ConfigurationError(`authorizer type ${type} ${why}`);
  }
  return next;
}

function fileFault(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return `error loading file: stat ${path}: no such file or directory`;
  return stat.isFile() ? undefined : "must be a regular file";
}

/** Converts the flags to the configuration that they define, like upstream. @throws UsageError */
function fromFlags(flags: AuthorizationFlags): AuthorizationConfiguration {
  const { authorizationMode: modes = modesDefault, authorizationWebhookConfigFile: file } = flags;
  if (modes.length === 0) throw new UsageError("at least one authorization-mode must be passed");
  const odd = modes.find((mode) => !known.has(mode));
  if (odd !== undefined) {
    throw new UsageError(`authorization-mode ${JSON.stringify(odd)} is not a valid mode`);
  }
  if (modes.includes("ABAC")) throw new UsageError(`authorization-mode ABAC: ${abacRefusal}`);
  if (new Set(modes).size < modes.length) {
    const list = modes.map((mode) => JSON.stringify(mode)).join(" ");
    throw new UsageError(`authorization-mode [${list}] has mode specified more than once`);
  }
  if (modes.includes("Webhook") && file === undefined) {
    throw new UsageError("authorization-mode Webhook's authorization config file not passed");
  }
  if (!modes.includes("Webhook") && file !== undefined) {
    throw new UsageError("cannot specify --authorization-webhook-config-file without mode Webhook");
  }
  const authorizers = modes.map((type): AuthorizerConfiguration => {
    if (type !== "Webhook") return { type, name: type.toLowerCase(), webhook: undefined };
    return { type, name: "default", webhook: webhookOf(flags, file ?? "") };
  });
  return { authorizers };
}

/** @throws UsageError */
function webhookOf(flags: AuthorizationFlags, file: string): AuthorizerConfiguration["webhook"] {
  const { authorizationWebhookVersion: version = "v1beta1" } = flags;
  if (version !== "v1" && version !== "v1beta1") {
    const what = `unsupported webhook authorizer version ${JSON.stringify(version)}`;
    throw new UsageError(
      `invalid authorization config: ${what}, supported versions are "v1", "v1beta1"`,
    );
  }
  const authorizedTTL = flags.authorizationWebhookCacheAuthorizedTtl;
  const unauthorizedTTL = flags.authorizationWebhookCacheUnauthorizedTtl;
  return {
    authorizedTTL,
    cacheAuthorizedRequests: authorizedTTL !== 0,
    unauthorizedTTL,
    cacheUnauthorizedRequests: unauthorizedTTL !== 0,
    timeout: 30_000,
    subjectAccessReviewVersion: version,
    matchConditionSubjectAccessReviewVersion: "",
    failurePolicy: "NoOpinion",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: resolve(file) },
    matchConditions: [],
  };
}

async function connected(
  compiled: readonly CompiledAuthorizer[],
): Promise<readonly ConnectedAuthorizer[]> {
  const all: ConnectedAuthorizer[] = [];
  for (const one of compiled) {
    if (one.type !== "Webhook") all.push(one);
    else all.push({ ...one, connection: await connectReviews(one.kubeConfigFile, one.timeoutMs) });
  }
  return all;
}
