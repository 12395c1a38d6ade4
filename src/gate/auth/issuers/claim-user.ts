/**
 * Makes the user from the claims of a verified token, by claim names or expressions.
 *
 * Source: k8s.io/apiserver plugin/pkg/authenticator/token/oidc/oidc.go, 1.36.
 */
import { ownEntry } from "#base/own.ts";
import type { RawClaims } from "../jwt.ts";
import type { UserInfo } from "#platform/http.ts";
import {
  ClaimError,
  claimsVariable,
  evaluate,
  type Expression,
  textsOf,
  userVariable,
} from "./claim-expressions.ts";
import type { Rule } from "./compiled-claims.ts";
import { jsonType } from "./token-claims.ts";
import type { CompiledIssuer } from "./validation.ts";

type Variables = ReturnType<typeof claimsVariable>;

/** Returns the user that the claims name, without system:authenticated. @throws ClaimError */
export function userOfClaims(issuer: CompiledIssuer, raw: RawClaims): UserInfo {
  const { claims: compiled } = issuer;
  refuseDistributed(issuer, raw);
  const variables = claimsVariable(raw);
  const uid = uidOf(issuer, raw, variables);
  const user = {
    name: usernameOf(issuer, raw, variables),
    groups: groupsOf(issuer, raw, variables),
    ...(uid === "" ? {} : { uid }),
    ...extraOf(issuer, raw, variables),
  };
  checkRequired(compiled.requiredClaims, raw);
  checkRules(compiled.claimRules, variables, "error evaluating claim validation expression");
  checkRules(compiled.userRules, userVariable(user), "error evaluating user info validation rule");
  return user;
}

/** Refuses groups that another server stores. Without them, bindings or denials for these groups would not apply to the user. */
function refuseDistributed({ configuration }: CompiledIssuer, raw: RawClaims): void {
  const { claim } = configuration.claimMappings.groups;
  const names = raw["_claim_names"];
  if (claim === "" || Object.hasOwn(raw, claim) || typeof names !== "object" || names === null)
    return;
  if (!Object.hasOwn(names, claim)) return;
  const why = `the claim ${JSON.stringify(claim)} stands at another server, which is not asked here`;
  throw new ClaimError(`oidc: could not expand distributed claims: ${why}`);
}

/** Prefixes the messages of ClaimErrors from `run` with `what`. @throws ClaimError */
function within<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ClaimError)) throw error;
    throw new ClaimError(`oidc: ${what}: ${error.message}`);
  }
}

function textClaim(raw: RawClaims, claim: string): string {
  if (!Object.hasOwn(raw, claim)) throw new ClaimError("claim not present");
  const value = raw[claim] ?? "";
  if (typeof value === "string") return value;
  throw noText(value);
}

function noText(value: unknown): ClaimError {
  return new ClaimError(`json: cannot unmarshal ${jsonType(value)} into Go value of type string`);
}

function textResult(expression: Expression, variables: Variables, what: string): string {
  return within(`error evaluating ${what} claim expression`, () => {
    const value = evaluate(expression, variables);
    if (typeof value === "string") return value;
    throw new ClaimError(`${what} claim expression must return a string`);
  });
}

function usernameOf(
  { configuration, claims }: CompiledIssuer,
  raw: RawClaims,
  variables: Variables,
): string {
  if (claims.username !== undefined)
    return named(textResult(claims.username, variables, "username"));
  const { claim, prefix = "" } = configuration.claimMappings.username;
  const name = within(`parse username claims ${JSON.stringify(claim)}`, () =>
    textClaim(raw, claim),
  );
  if (claim === "email" && Object.hasOwn(raw, "email_verified")) requireVerified(raw);
  return prefix + named(name);
}

/** Refuses an empty name. All users whose tokens lack the name would otherwise be the same user. */
function named(name: string): string {
  if (name !== "") return name;
  throw new ClaimError("oidc: the username is empty");
}

function requireVerified(raw: RawClaims): void {
  const verified = raw["email_verified"];
  if (verified === true) return;
  if (verified === false || verified === null) throw new ClaimError("oidc: email not verified");
  throw new ClaimError("oidc: parse 'email_verified' claim: it is no boolean");
}

function groupsOf(
  { configuration, claims }: CompiledIssuer,
  raw: RawClaims,
  variables: Variables,
): readonly string[] {
  const { claim, prefix = "" } = configuration.claimMappings.groups;
  if (claim !== "") {
    if (!Object.hasOwn(raw, claim)) return [];
    const groups = within(`parse groups claim ${JSON.stringify(claim)}`, () =>
      textList(raw[claim]),
    );
    return groups.map((group) => prefix + group);
  }
  const { groups } = claims;
  if (groups === undefined) return [];
  const what = "error evaluating group claim expression";
  return within(what, () => textsOf(evaluate(groups, variables)));
}

/** Returns a list of texts. A single text is a list of one. */
function textList(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value ?? ""];
  return list.map((each) => {
    if (typeof each === "string") return each;
    throw noText(value);
  });
}

function uidOf(
  { configuration, claims }: CompiledIssuer,
  raw: RawClaims,
  variables: Variables,
): string {
  const { claim } = configuration.claimMappings.uid;
  if (claim !== "")
    return within(`parse uid claim ${JSON.stringify(claim)}`, () => textClaim(raw, claim));
  return claims.uid === undefined ? "" : textResult(claims.uid, variables, "uid");
}

const credentialId = "authentication.kubernetes.io/credential-id";

function extraOf(
  { claims }: CompiledIssuer,
  { jti }: { readonly jti?: unknown },
  variables: Variables,
): Pick<UserInfo, "extra"> {
  const named =
    typeof jti === "string" && jti !== "" ? [[credentialId, [`JTI=${jti}`]] as const] : [];
  const mapped = claims.extra.flatMap(({ key, expression }) => {
    const what = `error evaluating extra claim expression: ${expression.text}`;
    const values = within(what, () => textsOf(evaluate(expression, variables)));
    return values.length === 0 ? [] : [[key, values] as const];
  });
  const entries = [...named, ...mapped];
  return entries.length === 0 ? {} : { extra: Object.fromEntries(entries) };
}

function checkRequired(required: ReadonlyMap<string, string>, raw: RawClaims): void {
  for (const [claim, wanted] of required) {
    if (ownEntry(raw, claim) === undefined && !Object.hasOwn(raw, claim)) {
      throw new ClaimError(`oidc: required claim ${claim} not present in ID token`);
    }
    const value = within(`parse claim ${claim}`, () => textClaim(raw, claim));
    if (value !== wanted) {
      const why = `Got = ${value}, want = ${wanted}`;
      throw new ClaimError(`oidc: required claim ${claim} value does not match. ${why}`);
    }
  }
}

function checkRules(rules: readonly Rule[], variables: Variables, what: string): void {
  within(what, () => {
    // All rules are evaluated before any result is checked, as upstream.
    const results = rules.map(({ expression }) => evaluate(expression, variables));
    for (const [at, { expression, message }] of rules.entries()) {
      if (results[at] === true) continue;
      throw new ClaimError(`validation expression '${expression.text}' failed: ${message}`);
    }
  });
}
