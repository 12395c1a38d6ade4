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
  /** Conversion webhooks; absent: such a version is refused. */
  readonly converterOf?: ConverterOf;
  /** Bytes of converted objects that are kept, of all definitions together. */
  readonly convertedBytesMax: number;
  /** x-kubernetes-validations; absent: they are not evaluated. */
  readonly rulesOf?: RulesOf;
}

export interface Definitions {
  readonly definitions: DefinitionCatalog;
  /** Ends the controller; the kinds stay served. */
  close(): Promise<void>;
}

/** Everything defined is served when this returns. The controller's first writes come in a later turn. */
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
