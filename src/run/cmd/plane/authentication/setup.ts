/** The flags of issuers and of anonymous requests, read and checked at the start before anything is opened. */
import type { AuthenticationConfiguration } from "#auth/configuration/authentication.ts";
import { readAuthentication } from "#auth/configuration/authentication.ts";
import { ConfigurationError } from "#auth/configuration/shape.ts";
import { signingAlgorithms } from "#auth/issuers/jws.ts";
import { compileAuthentication, type CompiledAuthentication } from "#auth/issuers/validation.ts";
import { UsageError } from "../../shared/usage-error.ts";
import { type FileWords, readConfigurationFile, type ReadFile } from "./configuration-file.ts";
import type { AuthenticationFlags } from "./flags.ts";
import { hasOidcFlags, oidcAlgorithms, oidcConfiguration } from "./oidc-flags.ts";

export interface AuthenticationSetup {
  readonly first: CompiledAuthentication;
  /** Configuration file. Absent: flags define the configuration, which then does not change. */
  readonly file?: ReadFile<CompiledAuthentication>;
  readonly algorithms: readonly string[];
}

/** @param serviceAccountIssuers this server's own issuers, which no other issuer may use. Rejects with UsageError with upstream's text. */
export async function authenticationSetup(
  flags: AuthenticationFlags,
  serviceAccountIssuers: readonly string[],
): Promise<AuthenticationSetup | undefined> {
  const compile = (configuration: AuthenticationConfiguration): CompiledAuthentication =>
    compileAuthentication(configuration, serviceAccountIssuers);
  const { authenticationConfig: path } = flags;
  if (path === undefined && !hasOidcFlags(flags)) return undefined;
  if (path !== undefined && hasOidcFlags(flags)) {
    throw new UsageError("authentication-config file and oidc-* flags are mutually exclusive");
  }
  return usable(async () => {
    if (path === undefined) {
      const first = compile(oidcConfiguration(flags));
      return { first, algorithms: oidcAlgorithms(flags) };
    }
    const words = wordsOf(path);
    const read = (value: unknown): CompiledAuthentication =>
      compile(readWith(words, () => readAuthentication(value)));
    const what = "authentication";
    const file = await readConfigurationFile({ path, what, words, read });
    const { first } = file;
    refuseSecondWord(flags, first);
    const reread = (value: unknown): CompiledAuthentication => sameAnonymous(first, read(value));
    return { first, file: { ...file, read: reread }, algorithms: signingAlgorithms };
  });
}

/** Adds the name of the file to an error of its syntax. An error of its content names the fields instead. */
function readWith<T>({ malformed }: FileWords, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(malformed(error.message), { cause: error });
  }
}

function wordsOf(path: string): FileWords {
  const where = `failed to load authentication configuration from file ${JSON.stringify(path)}`;
  const told = (why: string): string => `${where}: ${why}`;
  return { unread: told, malformed: told };
}

function refuseSecondWord(
  { anonymousAuth }: AuthenticationFlags,
  { anonymous }: CompiledAuthentication,
): void {
  if (anonymousAuth === undefined || anonymous === undefined) return;
  throw new UsageError(
    "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file",
  );
}

/** Like upstream, refuses a change of the rule for anonymous requests before a restart. */
function sameAnonymous(
  first: CompiledAuthentication,
  next: CompiledAuthentication,
): CompiledAuthentication {
  if (JSON.stringify(next.anonymous) === JSON.stringify(first.anonymous)) return next;
  throw new ConfigurationError("anonymous: Forbidden: changed from initial configuration file");
}

/** Converts a ConfigurationError of `read` to a UsageError. */
export async function usable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ConfigurationError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
