/**
 * Plays the steps of a stage on an object: templates become patches, applied objects, events and deletions.
 *
 * Holds  a patch names the uid of the object that it was made of, so it never reaches a later one of the same name.
 * Bounds a template's run: `templateLimits`; what it makes is YAML of at most as many characters.
 */
import { given } from "#base/given.ts";
import { isRecord } from "#base/is-record.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { isAlreadyExists, isNotFound } from "#client/api-errors.ts";
import type { CallOptions, Client, PatchType, ResourceRef } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import { parseYaml } from "#wire/yaml.ts";
import { finalizerPatch } from "./finalizer-patch.ts";
import type { KindTable } from "./kind-table.ts";
import type { StageStep, StageTarget } from "./stage.ts";
import { TemplateError } from "./template/budget.ts";
import { type StageFacts, stageFunctions } from "./template/functions.ts";
import { runTemplate } from "./template/run.ts";
import type { Template } from "./template/syntax.ts";

const templateLimits = { stepsMax: 200_000, charsMax: 1_000_000 };
const yamlLimits = { bytesMax: templateLimits.charsMax, depthMax: 50, aliasMax: 100 };
const fieldManager = "kwok";

export interface WriterDeps {
  readonly client: Client;
  /** Returns a client that acts as another user. Absent: stages may not impersonate. */
  readonly clientAs?: (user: string) => Client;
  readonly kinds: KindTable;
  readonly events: EventRecorder;
}

interface Subject {
  readonly object: AnyObject;
  readonly target: StageTarget;
  readonly ref: ResourceRef;
  readonly facts: StageFacts;
}

/** @returns the object after the step. Undefined: the step wrote no object, or deleted it. Throws ApiError, TemplateError. */
export async function playStep(
  deps: WriterDeps,
  subject: Subject,
  step: StageStep,
): Promise<AnyObject | undefined> {
  const { object, target, ref } = subject;
  const { namespace = "", name = "" } = object.metadata ?? {};
  switch (step.kind) {
    case "event":
      deps.events.event({ ...target, ...object }, step.type, step.reason, step.message);
      return undefined;
    case "finalizers": {
      const patch = finalizerPatch(object.metadata?.finalizers ?? [], step);
      if (patch.length === 0) return undefined;
      return deps.client.patch<AnyObject>(ref, namespace, name, "json", patch);
    }
    case "delete":
      await deleteObject(deps.client, subject);
      return undefined;
    case "patch":
      return patchObject(deps, subject, step);
    case "apply":
      await applyObject(deps, subject, step);
      return undefined;
    default:
      return step satisfies never;
  }
}

async function deleteObject(client: Client, { object, ref }: Subject): Promise<void> {
  const { namespace = "", name = "", uid } = object.metadata ?? {};
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  try {
    await client.delete(ref, namespace, name, { gracePeriodSeconds: 0, ...preconditions });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function clientOf(deps: WriterDeps, asUser: string | undefined): Client {
  if (asUser === undefined) return deps.client;
  if (deps.clientAs !== undefined) return deps.clientAs(asUser);
  throw new TemplateError(`this process acts as itself only, not as ${asUser}`);
}

async function patchObject(
  deps: WriterDeps,
  subject: Subject,
  step: StageStep & { readonly kind: "patch" },
): Promise<AnyObject> {
  const { object, target, ref } = subject;
  const { namespace = "", name = "" } = object.metadata ?? {};
  const type: PatchType = step.type ?? defaultType(target);
  const made = render(step.template, subject);
  const patch = type === "json" ? jsonPatch(made, step.root) : mergePatch(made, step.root, object);
  const options: CallOptions = step.subresource === "" ? {} : { subresource: step.subresource };
  const client = clientOf(deps, step.asUser);
  return client.patch<AnyObject>(ref, namespace, name, type, patch, options);
}

/** As kwok: a strategic patch for Node and Pod, the two kinds that it knows. */
function defaultType({ apiVersion, kind }: StageTarget): PatchType {
  return apiVersion === "v1" && (kind === "Node" || kind === "Pod") ? "strategic" : "merge";
}

function jsonPatch(made: unknown, root: string): unknown {
  if (!Array.isArray(made)) throw new TemplateError("a JSON patch is a list of operations");
  if (root === "") return made;
  return made.map((one: unknown) => {
    if (!isRecord(one)) throw new TemplateError("an operation of a JSON patch is a map");
    return { ...one, path: `/${root}${String(one["path"])}` };
  });
}

function mergePatch(made: unknown, root: string, { metadata }: AnyObject): JsonObject {
  if (!isRecord(made)) throw new TemplateError("the template makes no map");
  const patch = (root === "" ? made : { [root]: made }) as JsonObject; // Parsed YAML is JSON.
  const own = patch["metadata"];
  const uid = given({ uid: metadata?.uid });
  return { ...patch, metadata: { ...(isRecord(own) ? (own as JsonObject) : {}), ...uid } };
}

/** Creates the object that the template makes, or patches the existing one. */
async function applyObject(
  deps: WriterDeps,
  subject: Subject,
  step: StageStep & { readonly kind: "apply" },
): Promise<void> {
  const made = render(step.template, subject);
  if (!isRecord(made)) throw new TemplateError("the template makes no object");
  const object = made as AnyObject; // Parsed YAML is JSON; what it lacks is asked for next.
  const { apiVersion = "", kind = "" } = object;
  if (apiVersion === "" || kind === "") {
    throw new TemplateError("the template must say apiVersion and kind");
  }
  const found = await deps.kinds.find({ apiVersion, kind });
  if (found === undefined) throw new TemplateError(`${kind} of ${apiVersion} is not served`);
  const client = clientOf(deps, step.asUser);
  const own = object.metadata?.namespace ?? subject.object.metadata?.namespace ?? "";
  const namespace = found.isNamespaced ? own : "";
  const options: CallOptions = step.type === "apply" ? { fieldManager, force: true } : {};
  const { name = "" } = object.metadata ?? {};
  if (step.subresource === "" && (await wasCreated(client, found.ref, namespace, object))) return;
  await client.patch(found.ref, namespace, name, step.type, object, {
    ...options,
    ...(step.subresource === "" ? {} : { subresource: step.subresource }),
  });
}

async function wasCreated(
  client: Client,
  ref: ResourceRef,
  namespace: string,
  object: AnyObject,
): Promise<boolean> {
  try {
    await client.create(ref, namespace, object);
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

function render(template: Template, { object, target, facts }: Subject): unknown {
  const data = { ...target, ...object };
  const text = runTemplate(template, data, stageFunctions(facts), templateLimits);
  const parsed = parseYaml(text, yamlLimits);
  if (parsed.kind !== "ok") throw new TemplateError(`what the template makes: ${parsed.message}`);
  return parsed.value;
}
