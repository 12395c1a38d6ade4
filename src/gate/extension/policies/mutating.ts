/**
 * The plugin MutatingAdmissionPolicy: every policy with a binding may change the writes that it covers, in the order of
 * policy names. The mutations of a policy run in their order.
 *
 * Holds  an error refuses the write when failurePolicy is Fail, and changes nothing when it is Ignore. A policy with
 *        reinvocationPolicy IfNeeded runs once more, never more often, when a policy (itself included), a webhook or
 *        another plugin changed the object in the first pass.
 * Texts as upstream's pkg/admission/plugin/policy/{generic,mutating}.
 */
import type { AdmissionPlugin, AdmissionRequest } from "#admission/admission.ts";
import { forbiddenError } from "#admission/request.ts";
import type { AnyObject } from "#api/object.ts";
import { must } from "#base/assert.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { ApiError } from "#api/status.ts";
import { part, items, text } from "#api/validation/fields.ts";
import { makeMutation, type MadeMutation } from "./made-mutation.ts";
import { applyMutation, type MutationTarget } from "./mutation.ts";
import type { MutatingProgram } from "./mutating-program.ts";
import { matchConditions, type MatchResult } from "./match-conditions.ts";
import type { PolicyMetrics } from "./metrics.ts";
import { collectParams } from "./params.ts";
import type { CompiledPolicy, PolicyIndex } from "./policy-index.ts";
import { isJudged } from "./policy-index.ts";
import { type PlainScope, scopesOf } from "./plain-scope.ts";
import { PolicyRun } from "./policy-run.ts";
import { RecordedAccess } from "./recorded-access.ts";
import { Reinvoked } from "./reinvoked.ts";
import type { Covered } from "./matcher.ts";
import { RequestVariables, type VariableDeps } from "./variables.ts";

interface MutatingDeps extends VariableDeps {
  readonly policies: PolicyIndex<MutatingProgram>;
  readonly metrics: PolicyMetrics;
  readonly target: (covered: Covered, subresource: string) => MutationTarget;
}

const name = "MutatingAdmissionPolicy";

export function mutatingAdmissionPolicy(deps: MutatingDeps): AdmissionPlugin {
  return {
    name,
    mutate(request) {
      const { object } = request;
      if (object === undefined || !isJudged(request)) return request.object as AnyObject;
      const candidates = deps.policies.candidates(request);
      if (candidates.length === 0) return object;
      return mutate(new Change(deps, request, object), candidates);
    },
  };
}

async function mutate(
  change: Change,
  candidates: readonly CompiledPolicy<MutatingProgram>[],
): Promise<AnyObject> {
  for (const policy of candidates) await change.ask(policy);
  return change.conclude();
}

/** One policy with one binding and one parameter object. */
interface Invocation {
  readonly compiled: CompiledPolicy<MutatingProgram>;
  readonly covered: Covered;
  readonly binding: string;
  readonly param: AnyObject | null;
}

interface Refused {
  readonly message: string;
  readonly reason: "Forbidden" | "Invalid";
}

/** Application of all policies to one request. */
class Change {
  readonly #deps: MutatingDeps;
  readonly #request: AdmissionRequest;
  readonly #reinvoked: Reinvoked;
  readonly #errors: Refused[] = [];
  readonly #access: RecordedAccess;
  readonly #run: PolicyRun;
  #object: AnyObject;
  #hasChanged = false;

  constructor(deps: MutatingDeps, request: AdmissionRequest, object: AnyObject) {
    this.#deps = deps;
    this.#request = request;
    this.#object = object;
    this.#access = new RecordedAccess(deps.authorizer, request.user);
    this.#run = new PolicyRun(deps, this.#access);
    this.#reinvoked = request.reinvocation?.stateOf(name, () => new Reinvoked()) ?? new Reinvoked();
    if (request.reinvocation?.isSecond === true) this.#reinvoked.resume(object);
  }

  async ask(compiled: CompiledPolicy<MutatingProgram>): Promise<void> {
    const { lookup, findParams } = this.#deps;
    await this.#run.spend(0);
    const covered = compiled.cover(this.#request, lookup);
    if (covered.kind === "no") return;
    if (covered.kind === "error") {
      this.#fail(compiled, undefined, `failed to configure policy: ${covered.message}`);
      return;
    }
    for (const binding of compiled.bindings) {
      const bound = binding.cover(this.#request, lookup);
      if (bound.kind === "no") continue;
      const found =
        bound.kind === "error"
          ? bound
          : await collectParams(
              compiled.policy,
              binding.object,
              this.#request.namespace,
              findParams,
            );
      if (found.kind === "error") {
        this.#fail(compiled, binding.name, `failed to configure binding: ${found.message}`);
      } else {
        for (const param of found.params) {
          await this.#invoke({ compiled, covered: covered.covered, binding: binding.name, param });
        }
      }
    }
  }

  /** @throws ApiError 403 with all errors. */
  conclude(): AnyObject {
    if (this.#hasChanged) this.#reinvoked.requireAll();
    this.#reinvoked.finish(this.#object);
    const [first] = this.#errors;
    if (first === undefined) return this.#object;
    const { status } = forbiddenError(this.#request, first.message);
    const causes = this.#errors.map(({ message }) => ({ message }));
    throw new ApiError({
      ...status,
      ...first,
      details: { ...status.details, causes },
    });
  }

  async #invoke(invocation: Invocation): Promise<void> {
    const { compiled, binding, param } = invocation;
    const matched = await this.#match(invocation);
    if (matched.kind === "error") this.#fail(compiled, binding, matched.message, "Invalid");
    if (matched.kind !== "match") return;
    const key = [compiled.name, binding, param?.metadata?.namespace, param?.metadata?.name].join(
      "/",
    );
    if (this.#request.reinvocation?.isSecond === true && !this.#reinvoked.isDue(key)) return;
    const before = this.#object;
    const spec = part(compiled.policy, "spec");
    for (let at = 0; at < items(spec, "mutations").length; at++) await this.#mutate(invocation, at);
    if (!jsonEqual(before, this.#object)) {
      this.#hasChanged = true;
      this.#reinvoked.requireAll();
      this.#request.reinvocation?.want();
    }
    if (text(spec, "reinvocationPolicy") === "IfNeeded") this.#reinvoked.add(key);
  }

  #scope({ covered, param }: Invocation): Promise<PlainScope> {
    const seen = new RequestVariables(this.#deps, { ...this.#request, object: this.#object });
    return seen.scope(covered, param);
  }

  async #match(invocation: Invocation): Promise<MatchResult> {
    const { policy, compiled } = invocation.compiled;
    const scope = await this.#scope(invocation);
    const known = compiled();
    const here = (): MatchResult => {
      const { program, variables } = must(known, "a policy that is compiled");
      const { conditions } = scopesOf(scope, this.#access.decide, variables);
      return matchConditions(program.conditions, conditions, program.failsClosed);
    };
    return this.#run.run<"match">(known === undefined ? undefined : here, () => ({
      question: { what: "match", policy: JSON.stringify(policy) },
      scope,
    }));
  }

  async #make(invocation: Invocation, at: number): Promise<MadeMutation> {
    const { policy, compiled } = invocation.compiled;
    const scope = await this.#scope(invocation);
    const known = compiled();
    const here = (): MadeMutation => {
      const { program, variables } = must(known, "a policy that is compiled");
      const mutation = must(program.mutations[at], "a mutation of the policy");
      return makeMutation(mutation, scopesOf(scope, this.#access.decide, variables).full);
    };
    return this.#run.run<"mutation">(known === undefined ? undefined : here, () => ({
      question: { what: "mutation", policy: JSON.stringify(policy), at },
      scope,
    }));
  }

  async #mutate(invocation: Invocation, at: number): Promise<void> {
    const { compiled, covered, binding } = invocation;
    const target = this.#deps.target(covered, this.#request.subresource);
    const observe = this.#deps.metrics.start();
    try {
      const made = await this.#make(invocation, at);
      this.#object = await applyMutation(this.#deps.clock, made, target, this.#object);
      observe(compiled.name, binding, undefined);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      observe(compiled.name, binding, why);
      if (error instanceof ApiError) throw error;
      this.#fail(compiled, binding, why, "Invalid");
    }
  }

  #fail(
    { name: policy, failsClosed }: CompiledPolicy<MutatingProgram>,
    binding: string | undefined,
    why: string,
    reason: Refused["reason"] = "Forbidden",
  ): void {
    if (!failsClosed) return;
    const subject =
      binding === undefined ? `policy "${policy}"` : `policy '${policy}' with binding '${binding}'`;
    this.#errors.push({ message: `${subject} denied request: ${why}`, reason });
  }
}
