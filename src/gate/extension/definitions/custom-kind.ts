/**
 * The served kind of one version of a definition, under one epoch.
 *
 * write   coerce metadata -> prune -> drop nulls -> default -> (strategy: validate) -> stored version
 * read    stored bytes as they are when this epoch wrote them (epoch.ts); else the same steps without findings
 *
 * Parts that cost memory (schemas, table columns, list blocks, shapes) are made on first use.
 */
import type { AnyObject } from "#api/object.ts";
import { apiVersionOf, parseApiVersion } from "#api/object.ts";
import type { Printer } from "#api/printers/printer.ts";
import { cannotBeHandled, fieldFindings, findingsMax } from "#api/schema/decode.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { badRequest } from "#api/status.ts";
import { structuralApplyTypes } from "#api/structural/apply-types.ts";
import type { Structural } from "#api/structural/structural.ts";
import type { CustomFacts, ServedKind } from "#apiserver/kind.ts";
import { given } from "#base/given.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";
import { ListBlocks } from "#forms/list-body.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import { type Converter, withApiVersion } from "./conversion.ts";
import { decode, Forms, withDefaults } from "./forms.ts";
import { customStrategy } from "./custom-strategy.ts";
import { type DefinedVersion, type Definition, deprecationWarning } from "./definition.ts";
import type { Epoch } from "./epoch.ts";
import { customPrinter } from "./printer-columns.ts";
import type { RuleCheck, RulesOf } from "./rules/rule-check.ts";
import { scaleAccess } from "./scale-paths.ts";
import type { Schemas } from "./schemas.ts";

interface KindDeps {
  readonly registry: Registry;
  readonly definition: Definition;
  readonly epoch: Epoch;
  /** Schemas of all versions, compiled once for all kinds of the definition. */
  readonly schemas: Schemas;
  readonly converter: Converter | undefined;
  /** Memory for converted objects. */
  readonly convertedObjects: MemoPool;
  readonly rulesOf: RulesOf;
}

export function customKind(
  deps: KindDeps,
  info: ResourceInfo,
  version: DefinedVersion,
): ServedKind {
  const { definition, epoch, registry } = deps;
  const forms = new Forms(deps, apiVersionOf(info));
  const structural = (): Structural | undefined => deps.schemas.of(version.name);
  const lazy = new LazyParts(version, structural, deps.rulesOf);
  const { metadata } = definition;
  const rules = {
    strategy: customStrategy({
      kind: info.kind,
      apiVersion: apiVersionOf(info),
      subresources: version.subresources,
      structural,
      checkRules: () => lazy.rules,
    }),
    beginWrite: (isCreation: boolean) => epoch.beginWrite(isCreation),
    codec: forms,
  };
  let store: ResourceStore | undefined;
  return {
    resource: info,
    apiVersion: apiVersionOf(info),
    formKey: `${apiVersionOf(info)} ${metadata?.uid ?? ""} ${metadata?.generation ?? 0}`,
    isAsStored: (cached) => forms.isAsStored(cached),
    get store() {
      store ??= registry.store(info, rules);
      return store;
    },
    get blocks() {
      return lazy.blocks;
    },
    check(object, duplicates) {
      const decoded = decode(object, structural());
      if (decoded.error !== undefined) throw badRequest(cannotBeHandled(info, decoded.error));
      return { object: decoded.object, findings: findingsOf(decoded.unknown, duplicates) };
    },
    overfull: () => undefined,
    applyDefaults: (object) => withDefaults(object, structural()),
    types: () =>
      structuralApplyTypes({
        structural: (apiVersion) => schemaOfVersion(deps, apiVersion),
        convert: (object, apiVersion) => withApiVersion(object, apiVersion),
      }),
    toStored: (object) => object,
    fromStored: (object) => forms.fromStored(object),
    show: (cached) => forms.show(cached),
    json: (cached) => forms.json(cached),
    ...(deps.converter === undefined
      ? {}
      : {
          prepared: {
            isReady: (cached: CachedObject) => forms.isReady(cached),
            hold: (objects: readonly CachedObject[]) => forms.hold(objects),
          },
          convert: (object: AnyObject, to: string) => forms.convert(object, to),
        }),
    get printer() {
      return lazy.printer;
    },
    allowCreateOnUpdate: false,
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) =>
      jsonPath.replace(/^\./, ""),
    ),
    custom: customFacts(deps, version),
  };
}

function customFacts({ definition, epoch }: KindDeps, version: DefinedVersion): CustomFacts {
  const warning = deprecationWarning(definition, version);
  const paths = version.subresources?.scale;
  const { group, versions } = definition.spec;
  const pathsOf = (name: string) =>
    versions.find((one) => one.name === name && one.served)?.subresources?.scale;
  return {
    ...(paths === undefined ? {} : { scale: scaleAccess(group, paths, pathsOf) }),
    ...given({ warning }),
    get isTerminating() {
      return epoch.isTerminating;
    },
    watches: epoch,
  };
}

class LazyParts {
  readonly #version: DefinedVersion;
  readonly #structural: () => Structural | undefined;
  readonly #rulesOf: RulesOf;
  #blocks: ListBlocks | undefined;
  #printer: Printer | undefined;
  #rules: { readonly check: RuleCheck | undefined } | undefined;

  constructor(version: DefinedVersion, structural: () => Structural | undefined, rulesOf: RulesOf) {
    this.#version = version;
    this.#structural = structural;
    this.#rulesOf = rulesOf;
  }

  get blocks(): ListBlocks {
    this.#blocks ??= new ListBlocks();
    return this.#blocks;
  }

  get printer(): Printer {
    this.#printer ??= customPrinter(this.#version);
    return this.#printer;
  }

  get rules(): RuleCheck | undefined {
    if (this.#rules === undefined) {
      const structural = this.#structural();
      this.#rules = { check: structural === undefined ? undefined : this.#rulesOf(structural) };
    }
    return this.#rules.check;
  }
}

/** Returns the schema of a version. Null: the version is served without a schema. Undefined: it is not served. */
function schemaOfVersion(deps: KindDeps, apiVersion: string): Structural | null | undefined {
  const gv = parseApiVersion(apiVersion);
  if (gv === undefined || gv.group !== deps.definition.spec.group) return undefined;
  if (!deps.schemas.isServed(gv.version)) return undefined;
  return deps.schemas.of(gv.version) ?? null;
}

/** Returns duplicate fields first, as upstream: the text is decoded before unknown fields are pruned. */
function findingsOf(
  unknown: readonly string[],
  duplicates: JsonScan | undefined,
): readonly string[] {
  const texts = unknown
    .slice(0, findingsMax)
    .map((path) => `unknown field ${JSON.stringify(path)}`);
  return [...fieldFindings([], duplicates), ...texts].slice(0, findingsMax);
}
