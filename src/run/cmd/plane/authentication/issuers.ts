/** The running issuers of a configuration: their tokens and the rule for anonymous requests, as the file defines them now. */
import { IssuerTokens } from "#auth/issuers/issuer-tokens.ts";
import type { CompiledAuthentication } from "#auth/issuers/validation.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { ConfigurationFile, hashOf } from "./configuration-file.ts";
import { IssuerDocuments } from "./issuer-documents.ts";
import { issuerObserver, reloadObserver } from "./metrics.ts";
import type { AuthenticationSetup } from "./setup.ts";

interface IssuersDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
  readonly serverId: string;
}

export interface Issuers {
  readonly tokens: IssuerTokens;
  /** Whether a request to the path may be anonymous. Undefined: the configuration has no rule. */
  mayBeAnonymous(path: string): boolean | undefined;
  close(): void;
}

/** Fetches the keys in the background, because a server must not wait for an issuer that runs on it. */
export function openIssuers(
  deps: IssuersDeps,
  setup: AuthenticationSetup,
  apiAudiences: readonly string[],
): Issuers {
  const documents = new IssuerDocuments();
  const current = currentOf(deps, setup);
  const { clock, log } = deps;
  const tokens = new IssuerTokens(
    {
      clock,
      log,
      open: documents.open,
      issuers: () => current().issuers,
      observer: issuerObserver(deps),
    },
    { apiAudiences, algorithms: setup.algorithms },
  );
  void tokens.warmUp();
  return {
    tokens,
    mayBeAnonymous: (path) => anonymousAt(current(), path),
    close: () => documents.close(),
  };
}

function currentOf(deps: IssuersDeps, { first, file }: AuthenticationSetup) {
  const observe = reloadObserver(deps, "authentication", file && hashOf(file.text));
  if (file === undefined) return () => first;
  const { clock, log } = deps;
  const watched = new ConfigurationFile({ clock, log, observe }, file);
  return () => watched.current();
}

function anonymousAt({ anonymous }: CompiledAuthentication, path: string): boolean | undefined {
  if (anonymous === undefined) return undefined;
  const { enabled, conditions } = anonymous;
  return enabled && (conditions.length === 0 || conditions.some((one) => one.path === path));
}
