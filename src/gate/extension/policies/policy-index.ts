/**
 * An index of the compiled policies of one type that have a binding, by the requests that they cover.
 *
 * Holds  the index always reflects the current caches: a policy is in force as soon as its write has been answered.
 * Cost   no rebuild while no policy, binding or served resource changes; one look-up for all policies that do not cover
 *        the request. A policy is compiled when it first covers a request, and again after a change.
 */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { ApiError } from "#api/status.ts";
import { part, text } from "#api/validation/fields.ts";
import { type RuleEntry, RuleIndex } from "../matching/rule-index.ts";
import type { Expression } from "./expression.ts";
import { type Covered, indexEntry, type MatchResources, ResourceMatcher } from "./matcher.ts";

export interface NamedExpression {
  readonly name: string;
  readonly expression: Expression;
}

/** Result of compiling a policy: its own program and its variables. */
export interface Compiled<P> {
  readonly program: P;
  /** Variables in order. Each may use those before it. */
  readonly variables: readonly NamedExpression[];
}

type Coverage =
  | { readonly kind: "covered"; readonly covered: Covered }
  | { readonly kind: "no" }
  | { readonly kind: "error"; readonly message: string };

interface Matching {
  cover(request: AdmissionRequest, lookup: Lister): Coverage;
}

interface CompiledBinding extends Matching {
  readonly name: string;
  readonly object: AnyObject;
}

export interface CompiledPolicy<P> extends Matching, RuleEntry {
  readonly name: string;
  /** Compiles the policy on first use. Undefined: it is so large that only a thread compiles it. */
  readonly compiled: () => Compiled<P> | undefined;
  readonly failsClosed: boolean;
  readonly policy: AnyObject;
  readonly bindings: readonly CompiledBinding[];
}

interface PolicySource {
  readonly lookup: Lister;
  readonly policies: GroupResource;
  readonly bindings: GroupResource;
  /** Number that changes whenever a policy or a binding changes. */
  readonly version: () => number;
  /** Resources that are served now. Another array after a change. */
  readonly served: () => readonly ResourceInfo[];
}

export class PolicyIndex<P> {
  readonly #source: PolicySource;
  /** Compiles a policy. Undefined: it takes too long. */
  readonly #compile: (policy: AnyObject) => Compiled<P> | undefined;
  /** By policy object, which is replaced with each change. */
  readonly #compiled = new WeakMap<AnyObject, { readonly compiled: Compiled<P> | undefined }>();
  #index: RuleIndex<CompiledPolicy<P>>;
  #version = Number.NaN;

  constructor(source: PolicySource, compile: (policy: AnyObject) => Compiled<P> | undefined) {
    this.#source = source;
    this.#compile = compile;
    this.#index = new RuleIndex<CompiledPolicy<P>>([], source.served);
  }

  /** Returns the policies with a rule that may cover the request, in order of name. */
  candidates(request: AdmissionRequest): readonly CompiledPolicy<P>[] {
    const version = this.#source.version();
    if (version !== this.#version) {
      this.#index = new RuleIndex(this.#read(), this.#source.served);
      this.#version = version;
    }
    return this.#index.candidates(request).map(({ entry }) => entry);
  }

  /** Forgets the equivalents, because the served resources have changed. */
  forget(): void {
    this.#version = Number.NaN;
  }

  #read(): CompiledPolicy<P>[] {
    const { lookup, policies, bindings } = this.#source;
    const bound = Map.groupBy(lookup.list(bindings, ""), (binding) =>
      text(part(binding, "spec"), "policyName"),
    );
    return lookup.list(policies, "").flatMap((policy) => {
      const own = bound.get(policy.metadata?.name ?? "");
      return own === undefined ? [] : [this.#assemble(policy, own)];
    });
  }

  #assemble(policy: AnyObject, bindings: readonly AnyObject[]): CompiledPolicy<P> {
    const constraints = part(policy, "spec")["matchConstraints"] as MatchResources | undefined; // stored
    return {
      compiled: () => this.#compileOnce(policy),
      failsClosed: text(part(policy, "spec"), "failurePolicy") !== "Ignore",
      ...indexEntry(constraints),
      ...matching(constraints ?? {}, this.#source.served),
      name: policy.metadata?.name ?? "",
      policy,
      bindings: bindings.map((binding) => this.#bind(binding)),
    };
  }

  #bind(binding: AnyObject): CompiledBinding {
    const resources = part(binding, "spec")["matchResources"] as MatchResources | undefined; // stored
    const name = binding.metadata?.name ?? "";
    return { ...matching(resources ?? {}, this.#source.served), name, object: binding };
  }

  #compileOnce(policy: AnyObject): Compiled<P> | undefined {
    const known = this.#compiled.get(policy);
    if (known !== undefined) return known.compiled;
    const compiled = this.#compile(policy);
    this.#compiled.set(policy, { compiled });
    return compiled;
  }
}

function matching(resources: MatchResources, served: () => readonly ResourceInfo[]): Matching {
  const matcher = new ResourceMatcher(resources, served);
  return {
    cover(request, lookup) {
      try {
        const covered = matcher.cover(request, lookup);
        return covered === undefined ? no : { kind: "covered", covered };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { kind: "error", message: error.message };
      }
    },
  };
}

const no: Coverage = { kind: "no" };

const registrationPolicies: ReadonlySet<string> = new Set([
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);

/** Resources that policies never cover. Every part of a cluster creates reviews, so a policy about them could lock out everyone. */
const reviews: ReadonlySet<string> = new Set([
  "authentication.k8s.io/selfsubjectreviews",
  "authentication.k8s.io/tokenreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
  "authorization.k8s.io/subjectaccessreviews",
]);

/** Returns whether policies apply to the resource at all (upstream: admission/exclusion). */
export function isJudged({ info: { group, resource } }: Pick<AdmissionRequest, "info">): boolean {
  if (group === "admissionregistration.k8s.io") return !registrationPolicies.has(resource);
  return !reviews.has(`${group}/${resource}`);
}
