/** Jobs: the selector and the labels that connect a job with its pods, derived from its uid and name. */
import type { AnyObject } from "../object.ts";
import type { Fields } from "../validation/fields.ts";
import { flag, part, text, textMap } from "../validation/fields.ts";
import type { StrategyRow } from "./build.ts";

export const controllerUidLabel = "batch.kubernetes.io/controller-uid";
export const jobNameLabel = "batch.kubernetes.io/job-name";
export const legacyControllerUidLabel = "controller-uid";
export const legacyJobNameLabel = "job-name";

export const jobs: StrategyRow = {
  status: {},
  generation: ["spec"],
  orphansByDefault: true,
  prepareForCreate: generateSelector,
};

/** Labels set by the user are kept; a conflict is refused by validation. */
function generateSelector(job: AnyObject): AnyObject {
  const spec = part(job, "spec");
  if (flag(spec, "manualSelector")) return job;
  const name = job.metadata?.name ?? "";
  const uid = job.metadata?.uid ?? "";
  const template = part(spec, "template");
  const given = textMap(part(template, "metadata"), "labels");
  const labels = {
    [legacyJobNameLabel]: name,
    [jobNameLabel]: name,
    [legacyControllerUidLabel]: uid,
    [controllerUidLabel]: uid,
    ...given,
  };
  const selector = part(spec, "selector");
  const matchLabels = { [controllerUidLabel]: uid, ...textMap(selector, "matchLabels") };
  const metadata = { ...part(template, "metadata"), labels };
  return withJobLabels(
    {
      ...job,
      spec: {
        ...spec,
        selector: { ...selector, matchLabels },
        template: { ...template, metadata },
      },
    },
    given,
    labels,
  );
}

/**
 * Gives a job without labels of its own the labels of its pods. Defaulting has given it the very map of its template,
 * which upstream then writes into; equal labels from a client are a separate map.
 */
function withJobLabels(job: AnyObject, given: Fields, labels: Record<string, string>): AnyObject {
  const own = job.metadata?.labels ?? {};
  if (Object.keys(own).length > 0 && own !== given) return job;
  return { ...job, metadata: { ...job.metadata, labels } };
}

/** Whether the condition of this type has status True. */
export function hasTrueCondition(status: Fields, type: string): boolean {
  const conditions = status["conditions"];
  if (!Array.isArray(conditions)) return false;
  return conditions.some(
    (each: Fields) => text(each, "type") === type && text(each, "status") === "True",
  );
}
