/**
 * The plugin MutatingAdmissionPolicy: every policy with a binding may change the writes it is about, in order of
 * names; its mutations in their order.
 *
 * Holds  an error refuses the write when failurePolicy is Fail, and changes nothing when it is Ignore; a policy that
 *        says IfNeeded runs once more when a policy (itself included), a webhook or another plugin changed the object in
 *        the first pass, never more often.
 * Texts as upstream's pkg/admission/plugin/policy/{generic,mutating}.
 */
import type { AdmissionPlugin, AdmissionRequest } from "#admission/admission.ts";
import { forbiddenError } from "#admission/request.ts";
import type { AnyObject } from "#api/object.ts";
import { jsonEqual } from "#api/json-value.ts";
import { ApiError } from "#api/status.ts";
import { evaluateMutation, type Mutation, type MutationTarget } from "./mutation.ts";
import { matchConditions } from "./match-conditions.ts";
import type { PolicyMetrics } from "./metrics.ts";
import { collectParams } from "./params.ts";
import type { CompiledPolicy, PolicyIndex } from "./policy-index.ts";
import { isJudged } from "./policy-index.ts";
import type { Expression } from "./expression.ts";
import { Reinvoked } from "./reinvoked.ts";
import type { Covered } from "./matcher.ts";
import { RequestVariables, type VariableDeps } from "./variables.ts";

export interface MutatingProgram {
  readonly failsClosed: boolean;
  readonly isReinvocable: boolean;
  readonly conditions: readonly Expression[];
  readonly mutations: readonly Mutation[];
}

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

/** One policy, binding and parameter object. */
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

/** All policies about one request. */
class Change {
  readonly #deps: MutatingDeps;
  readonly #request: AdmissionRequest;
  readonly #reinvoked: Reinvoked;
  readonly #errors: Refused[] = [];
  #object: AnyObject;
  #hasChanged = false;

  constructor(deps: MutatingDeps, request: AdmissionRequest, object: AnyObject) {
    this.#deps = deps;
    this.#request = request;
    this.#object = object;
    this.#reinvoked = request.reinvocation?.stateOf(name, () => new Reinvoked()) ?? new Reinvoked();
    if (request.reinvocation?.isSecond === true) this.#reinvoked.resume(object);
  }

  async ask(compiled: CompiledPolicy<MutatingProgram>): Promise<void> {
    const { lookup, findParams } = this.#deps;
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
          : collectParams(compiled.policy, binding.object, this.#request.namespace, findParams);
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
    const { compiled, covered, binding, param } = invocation;
    const { program, variables } = compiled;
    const seen = new RequestVariables(this.#deps, { ...this.#request, object: this.#object });
    const scopes = await seen.scopes(covered, param, variables);
    const matched = matchConditions(program.conditions, scopes.conditions, program.failsClosed);
    if (matched.kind === "error") this.#fail(compiled, binding, matched.message, "Invalid");
    if (matched.kind !== "match") return;
    const key = [compiled.name, binding, param?.metadata?.namespace, param?.metadata?.name].join(
      "/",
    );
    if (this.#request.reinvocation?.isSecond === true && !this.#reinvoked.isDue(key)) return;
    const before = this.#object;
    for (const mutation of program.mutations) await this.#mutate(invocation, mutation);
    if (!jsonEqual(before, this.#object)) {
      this.#hasChanged = true;
      this.#reinvoked.requireAll();
      this.#request.reinvocation?.want();
    }
    if (program.isReinvocable) this.#reinvoked.add(key);
  }

  async #mutate(
    { compiled, covered, binding, param }: Invocation,
    mutation: Mutation,
  ): Promise<void> {
    const { subresource } = this.#request;
    const seen = new RequestVariables(this.#deps, { ...this.#request, object: this.#object });
    const scopes = await seen.scopes(covered, param, compiled.variables);
    const target = this.#deps.target(covered, subresource);
    const observe = this.#deps.metrics.start();
    try {
      this.#object = await evaluateMutation(mutation, scopes.full, target, this.#object);
      observe(compiled.name, binding, undefined);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      observe(compiled.name, binding, why);
      if (error instanceof ApiError) throw error;
      this.#fail(compiled, binding, why, "Invalid");
    }
  }

  #fail(
    { name: policy, program }: CompiledPolicy<MutatingProgram>,
    binding: string | undefined,
    why: string,
    reason: Refused["reason"] = "Forbidden",
  ): void {
    if (!program.failsClosed) return;
    const subject =
      binding === undefined ? `policy "${policy}"` : `policy '${policy}' with binding '${binding}'`;
    this.#errors.push({ message: `${subject} denied request: ${why}`, reason });
  }
}
