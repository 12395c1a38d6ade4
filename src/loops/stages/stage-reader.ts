/**
 * Reads a Stage (`kwok.x-k8s.io/v1alpha1`): every mistake is noted with its field, and a stage with mistakes is not
 * played. The older `next` is read as the steps it stands for.
 *
 * Bounds matchExpressionsMax, valuesMax, stepsMax, and those of templates and queries.
 */
import { given } from "#base/given.ts";
import type { JsonObject } from "#api/object.ts";
import type { Stage, StagedObject, StageStep } from "./stage.ts";
import {
  type AmountSource,
  celTest,
  delayReader,
  pairsTest,
  queryTest,
  selectorOperators,
  type Test,
  weightReader,
} from "./selector.ts";
import { StageFields } from "./stage-fields.ts";
import { hasStageFunction } from "./template/functions.ts";
import { parseTemplate } from "./template/parser.ts";
import type { Template } from "./template/syntax.ts";

const matchExpressionsMax = 32;
const valuesMax = 256;
const stepsMax = 32;

interface StageReading {
  /** Undefined: the Stage has problems, or it has no selector and so is never played. */
  readonly stage: Stage | undefined;
  readonly problems: readonly string[];
}

export function readStage(object: JsonObject): StageReading {
  const fields = new StageFields();
  const spec = fields.map(object, "spec");
  const name = fields.text(fields.map(object, "metadata"), "name");
  const ref = fields.map(spec, "resourceRef");
  const kind = fields.text(ref, "kind");
  if (kind === "") fields.problem("spec.resourceRef.kind", "is required");
  const target = { apiVersion: fields.text(ref, "apiGroup") || "v1", kind };
  const tests = readSelector(fields, fields.map(spec, "selector"));
  const delay = fields.map(spec, "delay");
  const stage: Stage = {
    name,
    target,
    matches: (seen: StagedObject) => tests.every((test) => test(seen)),
    weightOf:
      fields.attempt("spec.weightFrom", () =>
        weightReader(amount(fields, spec, { value: "weight", from: "weightFrom", standard: 0 })),
      ) ?? noWeight,
    delayOf: fields.attempt("spec.delay", () => readDelay(fields, delay)) ?? noDelay,
    steps: readSteps(fields, spec),
    isImmediate: fields.flag(spec, "immediateNextStage"),
  };
  const isPlayed = fields.problems.length === 0 && spec["selector"] !== undefined;
  return { stage: isPlayed ? stage : undefined, problems: fields.problems };
}

const noWeight = (): undefined => undefined;
const noDelay = () => ({ fromMs: 0, toMs: 0 });

function readDelay(fields: StageFields, delay: JsonObject): Stage["delayOf"] {
  const duration = { value: "durationMilliseconds", from: "durationFrom", standard: 0 };
  const jitter = { value: "jitterDurationMilliseconds", from: "jitterDurationFrom" };
  return delayReader(amount(fields, delay, duration), amount(fields, delay, jitter));
}

function amount(
  fields: StageFields,
  map: JsonObject,
  names: { readonly value: string; readonly from: string; readonly standard?: number },
): AmountSource {
  const from = fields.map(map, names.from);
  const jq = fields.map(from, "jq");
  if (from["cel"] !== undefined) fields.problem(`${names.from}.cel`, "is not read here: use jq");
  const text = fields.text(from, "expressionFrom") || fields.text(jq, "expression");
  return {
    value: fields.number(map, names.value) ?? names.standard,
    from: text === "" ? undefined : text,
  };
}

function readSelector(fields: StageFields, selector: JsonObject): readonly Test[] {
  const expressions = fields.list(selector, "matchExpressions", matchExpressionsMax);
  return [
    pairsTest("labels", fields.texts(selector, "matchLabels")),
    pairsTest("annotations", fields.texts(selector, "matchAnnotations")),
    ...expressions.flatMap((one, at) => {
      const path = `spec.selector.matchExpressions[${at}]`;
      return fields.attempt(path, () => readExpression(fields, one)) ?? [];
    }),
  ];
}

function readExpression(fields: StageFields, one: JsonObject): Test {
  const cel = fields.text(fields.map(one, "cel"), "expression");
  if (cel !== "") return celTest(cel);
  const jq = one["jq"] === undefined ? one : fields.map(one, "jq");
  const operator = fields.oneOf(jq, "operator", selectorOperators);
  const values = fields.strings(jq, "values", valuesMax);
  return queryTest(fields.text(jq, "key"), operator ?? "Exists", values);
}

function readSteps(fields: StageFields, spec: JsonObject): readonly StageStep[] {
  const steps = fields.list(spec, "steps", stepsMax);
  if (steps.length > 0) return steps.flatMap((step) => readStep(fields, step));
  return readNext(fields, fields.map(spec, "next"));
}

/** Reads the fields of one step, in the order in which kwok plays them. */
function readStep(fields: StageFields, step: JsonObject): StageStep[] {
  return [
    ...readEvent(fields, step),
    ...readFinalizers(fields, step),
    ...(fields.flag(step, "delete") ? [{ kind: "delete" } as const] : []),
    ...(step["patch"] === undefined ? [] : readPatch(fields, fields.map(step, "patch"))),
    ...(step["apply"] === undefined ? [] : readApply(fields, fields.map(step, "apply"))),
  ];
}

function readNext(fields: StageFields, next: JsonObject): StageStep[] {
  const patches = fields.list(next, "patches", stepsMax);
  const status = fields.text(next, "statusTemplate");
  const asUser = userOf(fields, fields.map(next, "statusPatchAs"));
  const subresource = fields.text(next, "statusSubresource") || "status";
  const ofStatus = patches.length > 0 || status === "" ? undefined : readTemplate(fields, status);
  return [
    ...readEvent(fields, next),
    ...readFinalizers(fields, next),
    ...(fields.flag(next, "delete") ? [{ kind: "delete" } as const] : []),
    ...patches.flatMap((patch) => readPatch(fields, patch)),
    ...(ofStatus === undefined
      ? []
      : [
          {
            kind: "patch",
            template: ofStatus,
            root: "status",
            subresource,
            ...given({ asUser }),
          } as const,
        ]),
  ];
}

function readEvent(fields: StageFields, step: JsonObject): StageStep[] {
  if (step["event"] === undefined) return [];
  const event = fields.map(step, "event");
  const type = fields.text(event, "type") === "Warning" ? "Warning" : "Normal";
  const [reason, message] = [fields.text(event, "reason"), fields.text(event, "message")];
  return [{ kind: "event", type, reason, message }];
}

function readFinalizers(fields: StageFields, step: JsonObject): StageStep[] {
  if (step["finalizers"] === undefined) return [];
  const finalizers = fields.map(step, "finalizers");
  const values = (name: string): readonly string[] =>
    fields.list(finalizers, name, valuesMax).map((item) => fields.text(item, "value"));
  const isEmptied = fields.flag(finalizers, "empty");
  return [{ kind: "finalizers", add: values("add"), remove: values("remove"), isEmptied }];
}

function readPatch(fields: StageFields, patch: JsonObject): StageStep[] {
  const template = readTemplate(fields, fields.text(patch, "template"));
  if (template === undefined) return [];
  const type = fields.oneOf(patch, "type", ["json", "merge", "strategic"] as const);
  const asUser = userOf(fields, fields.map(patch, "impersonation"));
  const [root, subresource] = [fields.text(patch, "root"), fields.text(patch, "subresource")];
  return [{ kind: "patch", template, root, subresource, ...given({ type, asUser }) }];
}

function readApply(fields: StageFields, apply: JsonObject): StageStep[] {
  const template = readTemplate(fields, fields.text(apply, "template"));
  if (template === undefined) return [];
  const type = fields.oneOf(apply, "type", ["apply", "merge", "strategic"] as const) ?? "apply";
  const asUser = userOf(fields, fields.map(apply, "impersonation"));
  const subresource = fields.text(apply, "subresource");
  return [{ kind: "apply", template, subresource, type, ...given({ asUser }) }];
}

function userOf(fields: StageFields, map: JsonObject): string | undefined {
  const user = fields.text(map, "username");
  return user === "" ? undefined : user;
}

function readTemplate(fields: StageFields, text: string): Template | undefined {
  return fields.attempt("template", () => parseTemplate(text.trim(), hasStageFunction));
}
