/** The served kind of a built-in resource. Schemas, defaults, conversions and printers are those of the api room. */
import { type ApplyTypes, applyTypes } from "#api/apply/updater.ts";
import { convert } from "#api/convert/convert.ts";
import { cannotBeHandled, checkFields, fieldFindings } from "#api/schema/decode.ts";
import { applyDefaults } from "#api/defaults/apply.ts";
import {
  type AnyObject,
  apiVersionOf,
  type GroupVersionKind,
  parseApiVersion,
} from "#api/object.ts";
import { printerFor } from "#api/printers/printers.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { schemaOf, schemaOfKind } from "#api/schema/schema.ts";
import type { ObjectSchema } from "#api/schema/schema-types.ts";
import { badRequest, tooLarge } from "#api/status.ts";
import { strategicMergePatch } from "#api/patch/strategic-merge.ts";
import { strategyFor } from "#api/strategies/strategies.ts";
import { templateGenerationFault } from "#api/pods/template-generation.ts";
import { must } from "#base/assert.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import { ListBlocks } from "#forms/list-body.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import type { Checked, ServedKind } from "./kind.ts";

export function builtinKind(info: ResourceInfo, store: ResourceStore | undefined): ServedKind {
  const { group, version, resource, kind, storage } = info;
  const schema = must(schemaOfKind(info), `no schema of ${kind}`);
  const apiVersion = apiVersionOf(info);
  const storedApiVersion = apiVersionOf(storage ?? info);
  const strategy = strategyFor(storage?.group ?? group, storage?.resource ?? resource);
  return {
    resource: info,
    apiVersion,
    formKey: apiVersion,
    isAsStored: () => apiVersion === storedApiVersion,
    store,
    blocks: new ListBlocks(),
    check: (object, duplicates) => check(info, schema, object, duplicates),
    overfull: (object) => {
      const result = checkFields(object, schema);
      return result.kind === "too-many" ? result.message : undefined;
    },
    applyDefaults: (object) => applyDefaults(group, version, kind, object),
    toStored: (object) => convert(object, storedApiVersion),
    fromStored: (object) => convert(object, apiVersion),
    show: ({ object }) => convert(object, apiVersion),
    json: (cached) =>
      apiVersion === storedApiVersion ? cached.json : encode(convert(cached.object, apiVersion)),
    types: () =>
      applyTypes({ schema: (other) => schemaOfVersion(info, other), lookup: schemaOf, convert }),
    strategicMerge: (original, patch) => strategicMergePatch(original, patch, schema, schemaOf),
    ...(info.verbs.includes("list") ? { printer: printerFor(group, resource) } : {}),
    allowCreateOnUpdate: strategy.allowCreateOnUpdate,
    selectableFields: [],
  };
}

const encoder = new TextEncoder();

function encode(object: AnyObject): Uint8Array {
  return encoder.encode(JSON.stringify(object));
}

/** Schema of the same kind in another version, also in the group that it shares its storage with. */
function schemaOfVersion(info: ResourceInfo, apiVersion: string): ObjectSchema | undefined {
  const gv = parseApiVersion(apiVersion);
  if (gv === undefined) return undefined;
  const same = gv.group === info.group || gv.group === info.storage?.group;
  return same ? schemaOfKind({ ...gv, kind: info.kind }) : undefined;
}

function check(
  gvk: GroupVersionKind,
  schema: ObjectSchema,
  object: AnyObject,
  duplicates: JsonScan | undefined,
): Checked {
  const result = checkFields(object, schema);
  if (result.kind === "too-many") throw tooLarge(`the object has ${result.message}`);
  if (result.kind === "error") throw badRequest(cannotBeHandled(gvk, result.message));
  const fault = conversionFault(gvk, result.object);
  if (fault !== undefined) throw badRequest(cannotBeHandled(gvk, fault));
  return { object: result.object, findings: fieldFindings(result.unknownFields, duplicates) };
}

/** Returns the fault that upstream finds when it converts the decoded object to its internal version. */
function conversionFault({ group, kind }: GroupVersionKind, object: AnyObject): string | undefined {
  return group === "apps" && kind === "DaemonSet" ? templateGenerationFault(object) : undefined;
}

/** Types of a kind that is not a resource and has one version. */
export function typesOfKind(gvk: GroupVersionKind): ApplyTypes {
  const schema = (): ObjectSchema | undefined => schemaOfKind(gvk);
  return applyTypes({ schema, lookup: schemaOf, convert: (object) => object });
}

/** Checks an object of a kind that is not a resource (Scale, Binding, Eviction) like any other object. */
export function checkKind(
  gvk: GroupVersionKind,
  object: AnyObject,
  duplicates: JsonScan | undefined,
): Checked {
  const schema = must(schemaOfKind(gvk), `no schema of ${gvk.kind}`);
  return check(gvk, schema, object, duplicates);
}
