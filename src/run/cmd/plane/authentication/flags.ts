/** Flags of authentication, with kube-apiserver's names and meanings. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { boolean, goDuration, nameList } from "../../shared/flag-values.ts";

/** Absent: not given. Upstream distinguishes a given flag from one that has its default. */
export interface AuthenticationFlags {
  readonly authenticationConfig?: string;
  readonly anonymousAuth?: boolean;
  readonly oidcIssuerUrl?: string;
  readonly oidcClientId?: string;
  readonly oidcCaFile?: string;
  readonly oidcUsernameClaim?: string;
  readonly oidcUsernamePrefix?: string;
  readonly oidcGroupsClaim?: string;
  readonly oidcGroupsPrefix?: string;
  readonly oidcRequiredClaim?: ReadonlyMap<string, string>;
  readonly oidcSigningAlgs?: readonly string[];
  readonly authenticationTokenWebhookConfigFile?: string;
  readonly authenticationTokenWebhookVersion: string;
  /** Time that an answer of the token webhook is cached, in milliseconds. */
  readonly authenticationTokenWebhookCacheTtl: number;
  readonly serviceAccountExtendTokenExpiration: boolean;
  /** Maximum lifetime of a token in milliseconds. 0: no maximum. */
  readonly serviceAccountMaxTokenExpiration: number;
  readonly apiAudiences?: readonly string[];
  readonly serviceAccountLookup: boolean;
}

export function addAuthenticationFlags(command: Command): void {
  command
    .option(
      "--anonymous-auth [boolean]",
      "whether a request without a credential is system:anonymous, and not 401 (default: true)",
      boolean,
    )
    .option(
      "--authentication-config <file>",
      "an AuthenticationConfiguration (apiserver.config.k8s.io/v1): issuers of tokens, and where anonymous may go; read again when it changes",
    )
    .option("--oidc-issuer-url <url>", "OpenID Connect issuer whose tokens name users, https only")
    .option("--oidc-client-id <id>", "the audience that its tokens must be for")
    .option("--oidc-ca-file <file>", "authorities of its certificate, PEM; absent: the host's")
    .option("--oidc-username-claim <claim>", "the claim that names the user (default: sub)")
    .option(
      "--oidc-username-prefix <text>",
      'put before the name; absent: the issuer and "#", except for email; -: nothing',
    )
    .option("--oidc-groups-claim <claim>", "the claim that names groups, a text or a list")
    .option("--oidc-groups-prefix <text>", "put before each of them")
    .option(
      "--oidc-required-claim <claim=value>",
      "a claim that must have this value, given again for more",
      requiredClaim,
    )
    .option(
      "--oidc-signing-algs <list>",
      "algorithms that may sign its tokens, comma separated (default: RS256)",
      nameList,
    )
    .option(
      "--authentication-token-webhook-config-file <file>",
      "kubeconfig of a server that is asked by TokenReview about tokens that nobody here knows",
    )
    .option(
      "--authentication-token-webhook-version <version>",
      "version of TokenReview, v1 or v1beta1",
      "v1beta1",
    )
    .addOption(
      new Option(
        "--authentication-token-webhook-cache-ttl <duration>",
        "how long its answers are remembered",
      )
        .argParser(goDuration)
        .default(120_000, "2m"),
    )
    .option(
      "--api-audiences <list>",
      "audiences of tokens that are good for this server, comma separated; absent: the issuers of service account tokens",
      nameList,
    )
    .option(
      "--service-account-lookup [boolean]",
      "tokens are good only while their account and what they are bound to exist; nothing else is served",
      lookup,
      true,
    );
  addTokenLifetimes(command);
}

function addTokenLifetimes(command: Command): void {
  command
    .option(
      "--service-account-extend-token-expiration [boolean]",
      "tokens of pods for this server, asked for as admission injects them, live a year; their use after the time that was asked for is annotated and counted",
      boolean,
      true,
    )
    .addOption(
      new Option(
        "--service-account-max-token-expiration <duration>",
        "longer service account tokens are shortened, with a warning; 0: none is",
      )
        .argParser(maxTokenLifetime)
        .default(0, "0s"),
    );
}

/** Parses the maximum lifetime of a token into milliseconds. */
function maxTokenLifetime(text: string): number {
  const ms = goDuration(text);
  if (ms === 0 || (ms >= 3_600_000 && ms <= 2 ** 32 * 1_000)) return ms;
  throw new InvalidArgumentError(
    "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
  );
}

function lookup(text: string): boolean {
  if (boolean(text)) return true;
  throw new InvalidArgumentError("a token of a deleted account would be good until it ends.");
}

function requiredClaim(
  text: string,
  known: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const at = text.indexOf("=");
  if (at < 0) throw new InvalidArgumentError("malformed pair, expect string=string.");
  return new Map(known).set(text.slice(0, at).trim(), text.slice(at + 1).trim());
}
