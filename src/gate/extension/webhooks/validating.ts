/**
 * ValidatingAdmissionWebhook: calls all webhooks that match a request concurrently (64 at a time).
 *
 * Holds  the request is answered after the last webhook has answered. As in upstream, the first refusal to arrive is
 *        the answer. Validating webhooks cannot change the request.
 */
import type { AdmissionPlugin, AdmissionRequest } from "#admission/admission.ts";
import { askWebhook, timedOut } from "./ask.ts";
import { candidatesOf, isCalled, VersionCache, type WebhookDeps } from "./dispatch.ts";
import type { Candidate } from "../matching/rule-index.ts";
import type { Hook, HookSource } from "./hook.ts";

/** Maximum number of concurrent calls for one request. Upstream calls all webhooks at once, but no cluster has this many. */
const callsPerRequestMax = 64;
const failedOpenPrefix = "failed-open.validating.webhook.admission.k8s.io/";

export function validatingWebhooks(deps: WebhookDeps, source: HookSource): AdmissionPlugin {
  return {
    name: "ValidatingAdmissionWebhook",
    validate(request) {
      const candidates = candidatesOf(source, request);
      if (candidates.length === 0) return undefined;
      return validateBy(deps, request, candidates);
    },
  };
}

async function validateBy(
  deps: WebhookDeps,
  request: AdmissionRequest,
  candidates: readonly Candidate<Hook>[],
): Promise<void> {
  const versions = new VersionCache(deps.catalog, request);
  const called: Candidate<Hook>[] = [];
  for (const candidate of candidates) {
    const objects = () => versions.of(candidate).objects();
    const is = isCalled(deps, request, candidate, objects);
    if (typeof is === "boolean" ? is : await is) called.push(candidate);
  }
  if (called.length === 0) return;
  if (request.ending?.signal.aborted === true) throw timedOut();
  const refusals: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < called.length; at = next++) {
      const candidate = called[at];
      if (candidate === undefined) return;
      await validateOnce(deps, request, candidate, versions, at).catch((error) =>
        refusals.push(error),
      );
    }
  };
  await Promise.all(Array.from({ length: Math.min(called.length, callsPerRequestMax) }, worker));
  if (refusals.length > 0) throw refusals[0];
}

async function validateOnce(
  deps: WebhookDeps,
  request: AdmissionRequest,
  candidate: Candidate<Hook>,
  versions: VersionCache,
  at: number,
): Promise<void> {
  const tail = await versions.of(candidate).tail();
  const question = { type: "validating", request, candidate, tail, use: nothing } as const;
  const outcome = await askWebhook(deps, question);
  if (outcome === "used") return;
  request.annotate?.(`${failedOpenPrefix}round_0_index_${at}`, candidate.entry.name);
}

function nothing(): void {}
