/** The two policy plugins of a server, and the evaluator of webhooks' matchConditions. */
import type { AdmissionPlugin } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import { type AnyObject, apiVersionOf } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import type { ServedKind } from "#apiserver/kind.ts";
import type { Authorizer } from "#auth/auth.ts";
import type { ExpressionRunner } from "../expressions/runner.ts";
import { objectView } from "../webhooks/object-view.ts";
import type { Clock } from "#platform/clock.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { compileMutating, compileValidating } from "./compile.ts";
import type { Covered } from "./matcher.ts";
import { mutatingAdmissionPolicy } from "./mutating.ts";
import type { MutatingProgram } from "./mutating-program.ts";
import { PolicyMetrics } from "./metrics.ts";
import type { MutationTarget } from "./mutation.ts";
import type { FindParams, ParamSource } from "./params.ts";
import { PolicyIndex } from "./policy-index.ts";
import type { ValidatingProgram } from "./validating-decision.ts";
import { validatingAdmissionPolicy } from "./validating.ts";
import type { VariableDeps } from "./variables.ts";

interface PoliciesDeps {
  readonly lookup: Lister;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly metrics: MetricSet;
  readonly runner: ExpressionRunner;
  /** Numbers that change whenever a policy or a binding of that type may have changed. */
  readonly versions: { readonly mutating: () => number; readonly validating: () => number };
}

export interface Policies {
  readonly mutating: AdmissionPlugin;
  readonly validating: AdmissionPlugin;
  /** Sets the catalog before the first request. The catalog is made after admission. */
  serve(catalog: ResourceCatalog): void;
}

const group = "admissionregistration.k8s.io";

export function createPolicies(deps: PoliciesDeps): Policies {
  const { lookup, authorizer, versions, clock, runner } = deps;
  let catalog: ResourceCatalog | undefined;
  const served = (): readonly ResourceInfo[] => catalog?.infos() ?? [];
  const find: ResourceCatalog["find"] = (...path) => catalog?.find(...path);
  const source = (type: "mutating" | "validating") => ({
    lookup,
    served,
    version: versions[type],
    policies: { group, resource: `${type}admissionpolicies` },
    bindings: { group, resource: `${type}admissionpolicybindings` },
  });
  const mutating = new PolicyIndex<MutatingProgram>(
    source("mutating"),
    whileShort(runner, compileMutating),
  );
  const validating = new PolicyIndex<ValidatingProgram>(
    source("validating"),
    whileShort(runner, compileValidating),
  );
  const findParams = paramsOf(served, { find }, lookup);
  const variables: VariableDeps = {
    lookup,
    authorizer,
    clock,
    runner,
    catalog: { find },
    findParams,
  };
  const target = targetsOf({ find });
  const metricsOf = (type: "mutating" | "validating"): PolicyMetrics =>
    new PolicyMetrics(deps.clock, deps.metrics, type);
  return {
    mutating: mutatingAdmissionPolicy({
      ...variables,
      policies: mutating,
      metrics: metricsOf("mutating"),
      target,
    }),
    validating: validatingAdmissionPolicy({
      ...variables,
      policies: validating,
      metrics: metricsOf("validating"),
    }),
    serve(served_) {
      catalog = served_;
      served_.onChange(() => {
        mutating.forget();
        validating.forget();
      });
    },
  };
}

/** Maximum effort on the loop. Compiling 10,000 characters of expressions takes some 10 ms, and happens once. */
const compileEffortMax = 50_000;

/** Compiles a policy on the loop. Undefined: it takes longer. */
function whileShort<T>(
  runner: ExpressionRunner,
  compile: (policy: AnyObject) => T,
): (policy: AnyObject) => T | undefined {
  return (policy) => runner.tryHere(() => compile(policy), compileEffortMax)?.result;
}

function targetsOf(
  catalog: Pick<ResourceCatalog, "find">,
): (covered: Covered, subresource: string) => MutationTarget {
  return ({ info, kind }, subresource) => ({
    view: objectView(catalog, info, kind, subresource),
    shape: () =>
      catalog.find(info.group, info.version, info.resource)?.types().shape(apiVersionOf(kind)),
  });
}

function paramsOf(
  served: () => readonly ResourceInfo[],
  catalog: Pick<ResourceCatalog, "find">,
  lookup: Lister,
): FindParams {
  return (apiVersion, kind): ParamSource | undefined => {
    const info = served().find(
      (one) => one.kind === kind && one.storage !== undefined && apiVersionOf(one) === apiVersion,
    );
    const { storage } = info ?? {};
    if (info === undefined || storage === undefined) return undefined;
    const form = catalog.find(info.group, info.version, info.resource);
    if (form === undefined) return undefined;
    const shown = (one: AnyObject): AnyObject | Promise<AnyObject> => shownAs(form, one);
    return {
      namespaced: info.namespaced,
      get(namespace, name) {
        const found = lookup.get(storage, namespace, name);
        return found === undefined ? undefined : shown(found);
      },
      list(namespace) {
        const all = lookup.list(storage, namespace).map(shown);
        const waits = all.some((one) => one instanceof Promise);
        if (!waits) return all as AnyObject[]; // no promise among them
        return Promise.all(all.map((one) => Promise.resolve(one)));
      },
    };
  };
}

/** Conversions of stored objects by webhooks. They live as long as the stored objects, and while the definition is unchanged. */
const converted = new WeakMap<ServedKind, WeakMap<AnyObject, Promise<AnyObject>>>();

/** Returns a stored object in the version of the kind. */
function shownAs(form: ServedKind, stored: AnyObject): AnyObject | Promise<AnyObject> {
  if (form.convert === undefined || stored.apiVersion === form.apiVersion) {
    return form.fromStored(stored);
  }
  const known = converted.get(form) ?? new WeakMap<AnyObject, Promise<AnyObject>>();
  converted.set(form, known);
  const made = known.get(stored) ?? form.convert(stored, form.apiVersion);
  known.set(stored, made);
  // The next request retries after a failure.
  made.catch(() => known.delete(stored));
  return made;
}
