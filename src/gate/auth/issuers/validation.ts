/**
 * Checks an AuthenticationConfiguration and compiles its expressions, in upstream's order and with its texts.
 *
 * Source: k8s.io/apiserver pkg/apis/apiserver/validation/validation.go, 1.36.
 */
import { X509Certificate } from "node:crypto";
import type { FieldError } from "#api/status.ts";
import { aggregateText } from "#api/validation/aggregate.ts";
import {
  append,
  duplicate,
  invalidJson,
  invalidValue,
  required,
  tooMany,
} from "#api/validation/errors.ts";
import type {
  AuthenticationConfiguration,
  IssuerConfiguration,
  JwtConfiguration,
} from "../configuration/authentication.ts";
import { ConfigurationError } from "../configuration/shape.ts";
import { type CompiledClaims, compileClaims } from "./compiled-claims.ts";
import { issuerUrlFaults } from "./issuer-url.ts";

export interface CompiledIssuer {
  readonly configuration: JwtConfiguration;
  readonly claims: CompiledClaims;
}

export interface CompiledAuthentication {
  readonly issuers: readonly CompiledIssuer[];
  readonly anonymous: AuthenticationConfiguration["anonymous"];
}

const issuersMax = 64;

/** `disallowed`: issuers of this server's own service account tokens. @throws ConfigurationError with all findings. */
export function compileAuthentication(
  { jwt, anonymous }: AuthenticationConfiguration,
  disallowed: readonly string[],
): CompiledAuthentication {
  const faults: FieldError[] = [];
  const issuers = jwt.length > issuersMax ? [] : compileIssuers(jwt, disallowed, faults);
  if (jwt.length > issuersMax) faults.push(tooMany("jwt", jwt.length, issuersMax));
  else append(faults, anonymousFaults(anonymous));
  if (faults.length === 0) return { issuers, anonymous };
  const text = aggregateText(faults.map(({ field, message }) => `${field}: ${message}`));
  throw new ConfigurationError(`invalid authentication configuration: ${text}`);
}

function compileIssuers(
  jwt: readonly JwtConfiguration[],
  disallowed: readonly string[],
  faults: FieldError[],
): readonly CompiledIssuer[] {
  const urls = new Set<string>();
  const discoveries = new Set<string>();
  return jwt.map((configuration, at) => {
    const path = `jwt[${at}]`;
    const { url, discoveryURL } = configuration.issuer;
    checkIssuer(faults, configuration.issuer, disallowed, `${path}.issuer`);
    const claims = compileClaims(faults, configuration, path);
    if (urls.has(url)) faults.push(duplicate(`${path}.issuer.url`, url));
    urls.add(url);
    if (discoveryURL !== "" && discoveries.has(discoveryURL)) {
      faults.push(duplicate(`${path}.issuer.discoveryURL`, discoveryURL));
    }
    discoveries.add(discoveryURL);
    return { configuration, claims };
  });
}

function anonymousFaults(
  anonymous: AuthenticationConfiguration["anonymous"],
): readonly FieldError[] {
  if (anonymous === undefined || anonymous.enabled || anonymous.conditions.length === 0) return [];
  const shown = JSON.stringify(anonymous.conditions.map(({ path }) => ({ Path: path })));
  const why = "enabled should be set to true when conditions are defined";
  return [invalidJson("anonymous.conditions", shown, why)];
}

function checkIssuer(
  out: FieldError[],
  issuer: IssuerConfiguration,
  disallowed: readonly string[],
  path: string,
): void {
  const { url, discoveryURL } = issuer;
  if (url === "") out.push(required(`${path}.url`));
  else append(out, issuerUrlFaults(url, disallowed, `${path}.url`));
  if (discoveryURL !== "") {
    const field = `${path}.discoveryURL`;
    const withoutEnd = (text: string): string => text.replace(/\/+$/, "");
    if (url !== "" && withoutEnd(url) === withoutEnd(discoveryURL)) {
      out.push(invalidValue(field, discoveryURL, "discoveryURL must be different from URL"));
    }
    append(out, issuerUrlFaults(discoveryURL, [], field));
  }
  checkAudiences(out, issuer, path);
  checkAuthority(out, issuer.certificateAuthority, `${path}.certificateAuthority`);
  checkEgress(out, issuer.egressSelectorType, `${path}.egressSelectorType`);
}

function checkAudiences(
  out: FieldError[],
  { audiences, audienceMatchPolicy: policy }: IssuerConfiguration,
  path: string,
): void {
  const field = `${path}.audiences`;
  if (audiences.length === 0) {
    out.push(required(field, `at least one ${field} is required`));
    return;
  }
  const seen = new Set<string>();
  for (const [at, audience] of audiences.entries()) {
    if (audience === "") out.push(required(`${field}[${at}]`));
    if (seen.has(audience)) out.push(duplicate(`${field}[${at}]`, audience));
    seen.add(audience);
  }
  if (policy === "MatchAny" || (audiences.length === 1 && policy === "")) return;
  const why =
    audiences.length > 1
      ? "audienceMatchPolicy must be MatchAny for multiple audiences"
      : "audienceMatchPolicy must be empty or MatchAny for single audience";
  out.push(invalidValue(`${path}.audienceMatchPolicy`, policy, why));
}

function checkAuthority(out: FieldError[], pem: string, field: string): void {
  if (pem === "" || hasCertificate(pem)) return;
  const why = "data does not contain any valid RSA or ECDSA certificates";
  out.push(invalidValue(field, "<omitted>", why));
}

function hasCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

/**
 * Refuses egress selectors. Upstream accepts two of them. They select proxies of --egress-selector-config-file, which
 * this server does not support.
 */
function checkEgress(out: FieldError[], type: string, field: string): void {
  if (type === "") return;
  const isKnown = type === "controlplane" || type === "cluster";
  const why = isKnown
    ? "egress selectors are not served here: issuers are reached over this server's own network"
    : "egress selector must be either controlplane or cluster";
  out.push(invalidValue(field, type, why));
}
