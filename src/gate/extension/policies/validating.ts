/**
 * The plugin ValidatingAdmissionPolicy: every policy with a binding checks the writes that it covers.
 *
 * Holds  a denial of any policy refuses the write; the answer is the first denial in the order of names. Objects that
 *        configure admission by policies, and reviews, are never checked.
 * Cost   one look-up for all policies that do not cover the request; objects are converted and variables are made only
 *        when a policy has expressions to evaluate.
 * Texts as upstream's pkg/admission/plugin/policy/validating/dispatcher.go.
 */
import type { AdmissionPlugin, AdmissionRequest } from "#admission/admission.ts";
import { forbiddenError } from "#admission/request.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError, type StatusReason } from "#api/status.ts";
import { part, text, texts } from "#api/validation/fields.ts";
import { type CompiledPolicy, type PolicyIndex, isJudged } from "./policy-index.ts";
import { collectParams } from "./params.ts";
import type { PolicyMetrics } from "./metrics.ts";
import { type Decision, decide, type ValidatingProgram } from "./validating-decision.ts";
import { type PlainScope, scopesOf } from "./plain-scope.ts";
import { PolicyRun } from "./policy-run.ts";
import { RecordedAccess } from "./recorded-access.ts";
import { RequestVariables, type VariableDeps } from "./variables.ts";

interface ValidatingDeps extends VariableDeps {
  readonly policies: PolicyIndex<ValidatingProgram>;
  readonly metrics: PolicyMetrics;
}

interface Denied {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

export function validatingAdmissionPolicy(deps: ValidatingDeps): AdmissionPlugin {
  return {
    name: "ValidatingAdmissionPolicy",
    validate(request) {
      if (!isJudged(request)) return;
      const candidates = deps.policies.candidates(request);
      if (candidates.length === 0) return;
      return judge(new Judgement(deps, request), candidates);
    },
  };
}

async function judge(
  judgement: Judgement,
  candidates: readonly CompiledPolicy<ValidatingProgram>[],
): Promise<void> {
  for (const policy of candidates) await judgement.ask(policy);
  judgement.conclude();
}

/** Application of all policies to one request. */
class Judgement {
  readonly #deps: ValidatingDeps;
  readonly #request: AdmissionRequest;
  readonly #variables: RequestVariables;
  readonly #access: RecordedAccess;
  readonly #run: PolicyRun;
  readonly #denied: Denied[] = [];

  constructor(deps: ValidatingDeps, request: AdmissionRequest) {
    this.#deps = deps;
    this.#request = request;
    this.#variables = new RequestVariables(deps, request);
    this.#access = new RecordedAccess(deps.authorizer, request.user);
    this.#run = new PolicyRun(deps, this.#access);
  }

  async ask(compiled: CompiledPolicy<ValidatingProgram>): Promise<void> {
    const { name } = compiled;
    await this.#run.spend(0);
    const covered = compiled.cover(this.#request, this.#deps.lookup);
    if (covered.kind === "no") return;
    if (covered.kind === "error") {
      this.#fail(compiled, name, undefined, `failed to configure policy: ${covered.message}`);
      return;
    }
    const annotations = new Map<string, Set<string>>();
    for (const binding of compiled.bindings) {
      const bound = binding.cover(this.#request, this.#deps.lookup);
      if (bound.kind === "no") continue;
      if (bound.kind === "error") {
        const why = `failed to configure binding: ${bound.message}`;
        this.#fail(compiled, name, binding.name, why);
        continue;
      }
      const { policy } = compiled;
      const { namespace } = this.#request;
      const known = collectParams(policy, binding.object, namespace, this.#deps.findParams);
      const params = known instanceof Promise ? await known : known;
      if (params.kind === "error") {
        const why = `failed to configure binding: ${params.message}`;
        this.#fail(compiled, name, binding.name, why);
        continue;
      }
      for (const param of params.params) {
        const scope = await this.#variables.scope(covered.covered, param);
        const observe = this.#deps.metrics.start();
        const decision = await this.#decide(compiled, scope);
        this.#take(decision, compiled, binding.object, annotations, observe);
      }
    }
    this.#publish(name, annotations);
  }

  #decide(
    { policy, compiled }: CompiledPolicy<ValidatingProgram>,
    scope: PlainScope,
  ): Promise<Decision> {
    const known = compiled();
    const here =
      known === undefined
        ? undefined
        : () => decide(known.program, scopesOf(scope, this.#access.decide, known.variables));
    return this.#run.run<"decision">(here, () => ({
      question: { what: "decision", policy: JSON.stringify(policy) },
      scope,
    }));
  }

  /** @throws ApiError for the first denial. */
  conclude(): void {
    const [first] = this.#denied;
    if (first !== undefined) throw denialError(this.#request, first);
  }

  #fail(
    { failsClosed }: CompiledPolicy<ValidatingProgram>,
    policy: string,
    binding: string | undefined,
    message: string,
  ): void {
    if (failsClosed) this.#denied.push({ policy, binding, message, reason: "" });
  }

  #take(
    { denials, annotations }: Decision,
    { name: policy }: CompiledPolicy<ValidatingProgram>,
    binding: AnyObject,
    values: Map<string, Set<string>>,
    observe: ReturnType<PolicyMetrics["start"]>,
  ): void {
    const name = binding.metadata?.name ?? "";
    const actions = texts(part(binding, "spec"), "validationActions");
    for (const denial of denials) {
      for (const action of actions) {
        this.#act(action, denial, policy, binding);
        observe(policy, name, denial.message, action.toLowerCase());
      }
    }
    for (const annotation of annotations) {
      if (annotation.kind === "error") {
        this.#denied.push({ policy, binding: name, message: annotation.message, reason: "" });
        continue;
      }
      const known = values.get(annotation.key) ?? new Set();
      values.set(annotation.key, known.add(annotation.value));
    }
  }

  #act(
    action: string,
    { message, reason, at }: Decision["denials"][number],
    policy: string,
    binding: AnyObject,
  ): void {
    const name = binding.metadata?.name ?? "";
    if (action === "Deny") this.#denied.push({ policy, binding: name, message, reason });
    if (action === "Warn") {
      const subject = `ValidatingAdmissionPolicy '${policy}' with binding '${name}'`;
      this.#request.warn(`Validation failed for ${subject}: ${message}`);
    }
    if (action === "Audit") {
      this.#request.annotate?.(failureAnnotation, describeFailure(message, at, binding));
    }
  }

  /** Adds the annotations. Distinct values of several bindings or parameters are joined in one annotation. */
  #publish(policy: string, annotations: ReadonlyMap<string, ReadonlySet<string>>): void {
    for (const [key, values] of annotations) {
      this.#request.annotate?.(`${policy}/${key}`, [...values].join(", "));
    }
  }
}

const failureAnnotation = "validation.policy.admission.k8s.io/validation_failure";

/** Returns JSON with the fields in upstream's order. */
function describeFailure(message: string, expressionIndex: number, binding: AnyObject): string {
  const spec = part(binding, "spec");
  const failure = {
    message,
    policy: text(spec, "policyName"),
    binding: binding.metadata?.name ?? "",
    expressionIndex,
    validationActions: texts(spec, "validationActions"),
  };
  return JSON.stringify([failure]);
}

const codes: ReadonlyMap<string, number> = new Map([
  ["Unauthorized", 401],
  ["Forbidden", 403],
  ["RequestEntityTooLarge", 413],
]);

function denialError(request: AdmissionRequest, denied: Denied): ApiError {
  const { policy, binding, message: why, reason } = denied;
  const subject =
    binding === undefined
      ? `ValidatingAdmissionPolicy '${policy}'`
      : `ValidatingAdmissionPolicy '${policy}' with binding '${binding}'`;
  const message = `${subject} denied request: ${why}`;
  const { status } = forbiddenError(request, message);
  return new ApiError({
    ...status,
    reason: (reason === "" ? "Invalid" : reason) as StatusReason, // one of four, by validation
    code: codes.get(reason) ?? 422,
    details: { ...status.details, causes: [{ message }] },
  });
}
