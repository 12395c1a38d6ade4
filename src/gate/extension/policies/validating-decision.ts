/**
 * Evaluates one ValidatingAdmissionPolicy for one request with one parameter object: gives a decision for each
 * validation, and audit annotations.
 *
 * Holds  an error admits or denies according to failurePolicy. An exhausted budget is one error for all validations.
 * Texts and order as upstream's pkg/admission/plugin/policy/validating/validator.go.
 */
import { limits } from "./limits.ts";
import {
  Budget,
  evaluate,
  type Expression,
  OutOfBudget,
  type Outcome,
  type Scope,
} from "./expression.ts";
import { matchConditions } from "./match-conditions.ts";

interface Validation {
  readonly expression: Expression;
  readonly message: string;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
}

interface AuditAnnotation {
  readonly key: string;
  readonly expression: Expression;
}

export interface ValidatingProgram {
  readonly failsClosed: boolean;
  readonly conditions: readonly Expression[];
  readonly validations: readonly Validation[];
  readonly annotations: readonly AuditAnnotation[];
}

/** Variables of one request. Messages are evaluated without the authorizer. */
export interface Scopes {
  readonly full: Scope;
  readonly withoutAuthorizer: Scope;
  /** Variables of matchConditions, without the namespace. */
  readonly conditions: Scope;
}

interface Denial {
  readonly message: string;
  /** Reason of the denial. "" for errors: the status then has the reason Invalid. */
  readonly reason: string;
  /** Position of the validation in the policy. */
  readonly at: number;
}

type Annotation =
  | { readonly kind: "publish"; readonly key: string; readonly value: string }
  | { readonly kind: "error"; readonly message: string };

export interface Decision {
  readonly denials: readonly Denial[];
  readonly annotations: readonly Annotation[];
}

const admitted: Decision = { denials: [], annotations: [] };

export function decide(program: ValidatingProgram, scopes: Scopes): Decision {
  const { failsClosed } = program;
  const matched = matchConditions(program.conditions, scopes.conditions, failsClosed);
  if (matched.kind === "no-match") return admitted;
  if (matched.kind === "error") return failed(failsClosed, matched.message);
  try {
    const denials = judge(program, scopes);
    return { denials, annotations: annotate(program, scopes.withoutAuthorizer) };
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return failed(failsClosed, error.message);
  }
}

function failed(failsClosed: boolean, message: string): Decision {
  return failsClosed ? { denials: [{ message, reason: "", at: 0 }], annotations: [] } : admitted;
}

/** @throws OutOfBudget. */
function judge({ validations, failsClosed }: ValidatingProgram, scopes: Scopes): Denial[] {
  const budget = new Budget(limits.policyCost);
  const outcomes = validations.map(({ expression }) => evaluate(expression, scopes.full, budget));
  const messages = messagesOf(validations, scopes.withoutAuthorizer, budget);
  return validations.flatMap((validation, at) => {
    const denial = denialOf(validation, outcomes[at], messages[at]);
    if (denial === undefined || (denial.reason === "" && !failsClosed)) return [];
    return [{ ...denial, at }];
  });
}

/** Returns a text or an error for each validation. An error without a position applies to all validations. */
function messagesOf(
  validations: readonly Validation[],
  scope: Scope,
  budget: Budget,
): (Outcome | undefined | OutOfBudget)[] {
  try {
    return validations.map(({ messageExpression }) =>
      messageExpression === undefined ? undefined : evaluate(messageExpression, scope, budget),
    );
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return validations.map(() => error);
  }
}

function denialOf(
  validation: Validation,
  outcome: Outcome | undefined,
  message: Outcome | undefined | OutOfBudget,
): Omit<Denial, "at"> | undefined {
  if (outcome?.kind === "error") return { message: outcome.message, reason: "" };
  if (message instanceof OutOfBudget) {
    return { message: `failed messageExpression: ${message.message}`, reason: "" };
  }
  if (outcome?.value === true) return undefined;
  const { reason } = validation;
  return {
    message: chooseMessage(validation, message),
    reason: reason === "" ? "Invalid" : reason,
  };
}

/** Returns the evaluated message if it is usable, otherwise the written message, otherwise the expression. */
function chooseMessage(validation: Validation, made: Outcome | undefined): string {
  const text = made?.kind === "value" && typeof made.value === "string" ? made.value.trim() : "";
  if (text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= limits.messageBytes) {
    return text;
  }
  const written = validation.message.trim();
  return written === "" ? `failed expression: ${validation.expression.text.trim()}` : written;
}

/** @throws OutOfBudget. */
function annotate({ annotations, failsClosed }: ValidatingProgram, scope: Scope): Annotation[] {
  const budget = new Budget(limits.policyCost);
  return annotations.flatMap(({ key, expression }): Annotation[] => {
    const outcome = evaluate(expression, scope, budget);
    if (outcome.kind === "error") {
      return failsClosed ? [{ kind: "error", message: outcome.message }] : [];
    }
    const { value } = outcome;
    if (typeof value !== "string" || value.trim() === "") return [];
    return [{ kind: "publish", key, value: cut(value.trim()) }];
  });
}

/** Cuts a value at a number of bytes, as Go. A character that is cut is removed, because the rest would not be UTF-8. */
function cut(value: string): string {
  const bytes = Buffer.from(value);
  if (bytes.length <= limits.annotationBytes) return value;
  return bytes.subarray(0, limits.annotationBytes).toString().replace(/�+$/u, "");
}
