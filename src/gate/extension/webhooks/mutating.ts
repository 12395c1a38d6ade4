/**
 * MutatingAdmissionWebhook: calls the webhooks that match a request one after the other. Each sees the changes of the
 * previous ones.
 *
 * Holds  a patched object is decoded and defaulted like a client's, and validated later. In the second pass
 *        (admission/reinvocation.ts) a webhook is called again only if its policy is IfNeeded, it was called in the
 *        first pass, and the object changed after that call.
 */
import type { AdmissionPlugin, AdmissionRequest } from "#admission/admission.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject, JsonValue } from "#api/object.ts";
import { refuseBeyondLimits } from "#api/json/object-limits.ts";
import { internalError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Candidate } from "../matching/rule-index.ts";
import { giveWay, patchedInTurns } from "../patched-in-turns.ts";
import { askWebhook } from "./ask.ts";
import { candidatesOf, isCalled, VersionCache, type WebhookDeps } from "./dispatch.ts";
import type { Hook, HookSource } from "./hook.ts";
import type { Verdict } from "./verdict.ts";

const name = "MutatingAdmissionWebhook";
const mutationPrefix = "mutation.webhook.admission.k8s.io/";
const patchPrefix = "patch.webhook.admission.k8s.io/";

export function mutatingWebhooks(deps: WebhookDeps, source: HookSource): AdmissionPlugin {
  return {
    name,
    mutate(request) {
      const candidates = candidatesOf(source, request);
      if (candidates.length === 0) return request.object ?? {};
      return mutateBy(deps, request, candidates);
    },
    judge(request) {
      const candidates = candidatesOf(source, request);
      return candidates.length === 0 ? undefined : judgeBy(deps, request, candidates);
    },
  };
}

/** State of the two passes of one attempt at a write. */
interface Rounds {
  /** Ids of webhooks that were called in the first pass and must be called again if the object changes. */
  readonly asked: Set<string>;
  /** Ids of webhooks to call in the second pass. */
  readonly again: Set<string>;
  /** Object after the last webhook of the first pass. */
  output: AnyObject | undefined;
}

async function mutateBy(
  deps: WebhookDeps,
  request: AdmissionRequest,
  candidates: readonly Candidate<Hook>[],
): Promise<AnyObject> {
  const makeRounds = (): Rounds => ({ asked: new Set(), again: new Set(), output: undefined });
  const rounds = request.reinvocation?.stateOf(name, makeRounds) ?? makeRounds();
  const isSecond = request.reinvocation?.isSecond === true;
  if (isSecond && !isSame(rounds.output, request.object)) changed(rounds);
  let seen = request;
  let versions = new VersionCache(deps.catalog, seen);
  for (const [at, candidate] of candidates.entries()) {
    const hook = candidate.entry;
    const { objects } = inVersion(versions, candidate);
    if (!(await isCalled(deps, seen, candidate, objects))) continue;
    if (isSecond && !rounds.again.has(hook.id)) continue;
    const object = await mutateOnce(
      deps,
      seen,
      candidate,
      versions,
      `round_${isSecond ? 1 : 0}_index_${at}`,
    );
    if (object !== seen.object) {
      changed(rounds);
      request.reinvocation?.want();
      seen = { ...seen, object };
      versions = new VersionCache(deps.catalog, seen);
    }
    if (hook.isReinvocable) rounds.asked.add(hook.id);
  }
  rounds.output = seen.object;
  return seen.object ?? {};
}

function inVersion(versions: VersionCache, candidate: Candidate<Hook>) {
  return { objects: () => versions.of(candidate).objects() };
}

/** Marks all webhooks called so far, because they have not seen the changed object. */
function changed({ asked, again }: Rounds): void {
  for (const id of asked) again.add(id);
}

/** @returns the same object if the webhook changed nothing. */
async function mutateOnce(
  deps: WebhookDeps,
  request: AdmissionRequest,
  candidate: Candidate<Hook>,
  versions: VersionCache,
  round: string,
): Promise<AnyObject> {
  const view = versions.of(candidate);
  const hook = candidate.entry;
  let object = request.object ?? {};
  let patch: JsonValue | undefined;
  const use = async (verdict: Verdict): Promise<void> => {
    patch = verdict.patch;
    if (patch === undefined) return;
    const { object: before = {} } = await view.objects();
    const patched = await patchedObject(deps.clock, before, patch);
    await giveWay(deps.clock, patched);
    const next = await view.fromView(patched).catch(failInternally);
    await giveWay(deps.clock, next);
    if (!isSame(next, object)) object = next;
  };
  const tail = await view.tail();
  const question = { type: "mutating", request, candidate, tail, use } as const;
  const outcome = await askWebhook(deps, question);
  if (outcome === "ignored") request.annotate?.(`failed-open.${mutationPrefix}${round}`, hook.name);
  annotate(request, hook, round, object !== request.object, patch);
  return object;
}

function annotate(
  request: AdmissionRequest,
  { configuration, name: webhook }: Hook,
  round: string,
  mutated: boolean,
  patch: JsonValue | undefined,
): void {
  if (request.annotate === undefined) return;
  request.annotate(
    `${mutationPrefix}${round}`,
    JSON.stringify({ configuration, webhook, mutated }),
  );
  if (patch === undefined) return;
  const text = JSON.stringify({ configuration, webhook, patch, patchType: "JSONPatch" });
  request.annotate(`${patchPrefix}${round}`, text);
}

/** @throws ApiError 500, because the fault is in the webhook's patch, not in the client's request. */
async function patchedObject(
  clock: Clock,
  object: AnyObject,
  patch: JsonValue,
): Promise<AnyObject> {
  try {
    const patched = await patchedInTurns(clock, object, patch);
    refuseBeyondLimits(patched);
    return patched;
  } catch (error) {
    return failInternally(error);
  }
}

function failInternally(error: unknown): never {
  const { cause, message } = error as Error;
  throw internalError(cause instanceof Error ? cause.message : message);
}

function isSame(a: AnyObject | undefined, b: AnyObject | undefined): boolean {
  return (
    a === b || jsonEqual((a ?? null) as unknown as JsonValue, (b ?? null) as unknown as JsonValue)
  );
}

/** Calls webhooks for an operation without an object. They may refuse it, but a patch applies to no object. */
async function judgeBy(
  deps: WebhookDeps,
  request: AdmissionRequest,
  candidates: readonly Candidate<Hook>[],
): Promise<void> {
  const versions = new VersionCache(deps.catalog, request);
  for (const [at, candidate] of candidates.entries()) {
    const view = versions.of(candidate);
    if (!(await isCalled(deps, request, candidate, () => view.objects()))) continue;
    const hook = candidate.entry;
    const use = ({ patch }: Verdict): void => {
      if (patch === undefined) return;
      const said = `admission webhook ${JSON.stringify(hook.name)} attempted to modify the object`;
      throw internalError(`${said}, which is not supported for this operation`);
    };
    const tail = await view.tail();
    const question = { type: "mutating", request, candidate, tail, use } as const;
    const outcome = await askWebhook(deps, question);
    const round = `round_0_index_${at}`;
    if (outcome === "ignored")
      request.annotate?.(`failed-open.${mutationPrefix}${round}`, hook.name);
    annotate(request, hook, round, false, undefined);
  }
}
