/** Custom resources as a part of an API server: loaded before it is ready. */
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { type ConverterOf, refusingConverter } from "./conversion.ts";
import type { RulesOf } from "./rules/rule-check.ts";
import { DefinitionCatalog } from "./definition-catalog.ts";
import { DefinitionController } from "./definition-controller.ts";

interface DefinitionsDeps {
  readonly registry: OpenRegistry;
  readonly catalog: ResourceCatalog;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes converters that call webhooks. Absent: conversions by webhook are refused. */
  readonly converterOf?: ConverterOf;
  /** Maximum bytes of converted objects in memory, for all definitions together. */
  readonly convertedBytesMax: number;
  /** Makes the checks of x-kubernetes-validations. Absent: they are not evaluated. */
  readonly rulesOf?: RulesOf;
}

export interface Definitions {
  readonly definitions: DefinitionCatalog;
  /** Stops the controller. The kinds remain served. */
  close(): Promise<void>;
}

/** Serves all defined kinds before it returns. The controller's first writes follow in a later turn. */
export function serveDefinitions(
  deps: DefinitionsDeps,
  builtins: readonly ResourceInfo[],
): Definitions {
  const { registry, catalog, converterOf = refusingConverter, rulesOf = () => undefined } = deps;
  const convertedObjects = new MemoPool({ bytesMax: deps.convertedBytesMax });
  const kinds = { registry, builtins, converterOf, convertedObjects, rulesOf };
  const definitions = new DefinitionCatalog(kinds);
  catalog.serveCustom(definitions);
  definitions.start();
  definitions.onChange(() => catalog.changed());
  const controller = new DefinitionController({ ...deps, definitions });
  controller.start();
  return { definitions, close: () => controller.close() };
}
