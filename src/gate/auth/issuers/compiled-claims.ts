/**
 * Checks and compiles the claim rules, claim mappings and user rules of one issuer, in upstream's order and with its
 * texts.
 *
 * Source: k8s.io/apiserver pkg/apis/apiserver/validation/validation.go, 1.36.
 */
import type { FieldError } from "#api/status.ts";
import { duplicate, invalidValue, required } from "#api/validation/errors.ts";
import { checkDomainPrefixedPath } from "#api/validation/text.ts";
import type {
  ClaimMappings,
  ClaimRule,
  JwtConfiguration,
  PrefixedClaim,
  UserRule,
} from "../configuration/authentication.ts";
import { compileExpression, type Expression, readsClaim } from "./claim-expressions.ts";

export interface Rule {
  readonly expression: Expression;
  readonly message: string;
}

/** Compiled expressions of an issuer. An undefined expression: the configuration names a claim instead, or nothing. */
export interface CompiledClaims {
  readonly claimRules: readonly Rule[];
  /** By name: required value of a claim that the token must have. */
  readonly requiredClaims: ReadonlyMap<string, string>;
  readonly username: Expression | undefined;
  readonly groups: Expression | undefined;
  readonly uid: Expression | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
  readonly userRules: readonly Rule[];
}

const both = "claim and expression can't both be set";
const neither = "claim or expression is required";

export function compileClaims(
  out: FieldError[],
  { claimValidationRules, claimMappings, userValidationRules }: JwtConfiguration,
  path: string,
): CompiledClaims {
  const claimRules = compileClaimRules(out, claimValidationRules, `${path}.claimValidationRules`);
  const mappings = compileMappings(out, claimMappings, claimRules, `${path}.claimMappings`);
  const userRules = compileUserRules(out, userValidationRules, `${path}.userValidationRules`);
  const named = claimValidationRules.filter(({ claim }) => claim !== "");
  const requiredClaims = new Map(named.map((rule) => [rule.claim, rule.requiredValue]));
  return { claimRules, requiredClaims, ...mappings, userRules };
}

function compileInto(
  out: FieldError[],
  source: string,
  field: string,
  variable: "claims" | "user" = "claims",
  wanted: "bool" | "any" = "any",
): Expression | undefined {
  const compiled = compileExpression(source, variable, wanted);
  if (compiled.kind === "expression") return compiled.expression;
  out.push(invalidValue(field, source, compiled.detail));
  return undefined;
}

function compileClaimRules(
  out: FieldError[],
  rules: readonly ClaimRule[],
  path: string,
): readonly Rule[] {
  const claims = new Set<string>();
  const expressions = new Set<string>();
  return rules.flatMap((rule, at) => {
    const field = `${path}[${at}]`;
    const { claim, expression, message } = rule;
    if (claim !== "" && expression !== "") out.push(invalidValue(field, claim, both));
    else if (claim === "" && expression === "") out.push(required(field, neither));
    else if (claim !== "") checkRequiredClaim(out, rule, claims, field);
    else {
      checkNoValue(out, rule, field);
      if (expressions.has(expression)) out.push(duplicate(`${field}.expression`, expression));
      else {
        expressions.add(expression);
        const compiled = compileInto(out, expression, `${field}.expression`, "claims", "bool");
        return compiled === undefined ? [] : [{ expression: compiled, message }];
      }
    }
    return [];
  });
}

function checkRequiredClaim(
  out: FieldError[],
  { claim, message }: ClaimRule,
  seen: Set<string>,
  field: string,
): void {
  if (message !== "") {
    out.push(invalidValue(`${field}.message`, message, "may not be specified when claim is set"));
  }
  if (seen.has(claim)) out.push(duplicate(`${field}.claim`, claim));
  seen.add(claim);
}

function checkNoValue(out: FieldError[], { requiredValue }: ClaimRule, field: string): void {
  if (requiredValue === "") return;
  const why = "may not be specified when expression is set";
  out.push(invalidValue(`${field}.requiredValue`, requiredValue, why));
}

type Mappings = Pick<CompiledClaims, "username" | "groups" | "uid" | "extra">;

function compileMappings(
  out: FieldError[],
  mappings: ClaimMappings,
  rules: readonly Rule[],
  path: string,
): Mappings {
  const username = compilePrefixed(out, mappings.username, `${path}.username`, true);
  const groups = compilePrefixed(out, mappings.groups, `${path}.groups`, false);
  const uid = compileUid(out, mappings.uid, `${path}.uid`);
  const extra = compileExtra(out, mappings.extra, `${path}.extra`);
  if (username !== undefined && readsClaim(username, "email")) {
    const others = [username, ...rules.map(({ expression }) => expression)];
    const all = [...others, ...extra.map(({ expression }) => expression)];
    if (!all.some((one) => readsClaim(one, "email_verified"))) {
      out.push(invalidValue(`${path}.username.expression`, username.text, emailUnverified));
    }
  }
  return { username, groups, uid, extra };
}

const emailUnverified =
  "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";

function compilePrefixed(
  out: FieldError[],
  { claim, prefix, expression }: PrefixedClaim,
  field: string,
  isRequired: boolean,
): Expression | undefined {
  if (claim !== "" && expression !== "") out.push(invalidValue(field, "", both));
  else if (claim === "" && expression === "") {
    if (isRequired) out.push(required(field, neither));
  } else if (claim !== "") {
    const why =
      "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
    if (prefix === undefined) out.push(required(`${field}.prefix`, why));
  } else {
    const why = "may not be specified when expression is set";
    if (prefix !== undefined) out.push(invalidValue(`${field}.prefix`, prefix, why));
    return compileInto(out, expression, `${field}.expression`);
  }
  return undefined;
}

function compileUid(
  out: FieldError[],
  { claim, expression }: ClaimMappings["uid"],
  field: string,
): Expression | undefined {
  if (expression === "") return undefined;
  if (claim === "") return compileInto(out, expression, `${field}.expression`);
  out.push(invalidValue(field, "", both));
  return undefined;
}

function compileExtra(
  out: FieldError[],
  mappings: ClaimMappings["extra"],
  path: string,
): CompiledClaims["extra"] {
  const seen = new Set<string>();
  return mappings.flatMap(({ key, valueExpression }, at) => {
    checkExtraKey(out, key, `${path}[${at}].key`);
    if (seen.has(key)) {
      out.push(duplicate(`${path}[${at}].key`, key));
      return [];
    }
    seen.add(key);
    const field = `${path}[${at}].valueExpression`;
    if (valueExpression === "") {
      out.push(required(field));
      return [];
    }
    const expression = compileInto(out, valueExpression, field);
    return expression === undefined ? [] : [{ key, expression }];
  });
}

const reserved = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";

function checkExtraKey(out: FieldError[], key: string, field: string): void {
  checkDomainPrefixedPath(out, key, field);
  if (key !== key.toLowerCase()) out.push(invalidValue(field, key, "must be lowercase"));
  const domain = key.includes("/") ? (key.split("/")[0] ?? "") : "";
  const isReserved = /(^|\.)(kubernetes|k8s)\.io$/.test(domain);
  if (isReserved) out.push(invalidValue(field, key, reserved));
}

function compileUserRules(
  out: FieldError[],
  rules: readonly UserRule[],
  path: string,
): readonly Rule[] {
  const seen = new Set<string>();
  return rules.flatMap(({ expression, message }, at) => {
    const field = `${path}[${at}].expression`;
    if (expression === "") out.push(required(field));
    else if (seen.has(expression)) out.push(duplicate(field, expression));
    else {
      seen.add(expression);
      const compiled = compileInto(out, expression, field, "user", "bool");
      return compiled === undefined ? [] : [{ expression: compiled, message }];
    }
    return [];
  });
}
