/**
 * Strategy Webhook: converts objects of one definition by calls to a server that the definition names.
 *
 * Holds  objects that already have the wanted version are not sent, and no call is made without objects. The answer is
 *        checked before it is used (review.ts). A failure is a 500 with upstream's text for the requests that need this
 *        conversion; other requests are not affected.
 * Limits `batchObjectsMax` objects and about `batchBytesMax` bytes per call; `batchesAtOnce` concurrent calls per
 *        request; 30 s per call, as in upstream. For answers and calls in flight see caller.ts.
 */
import { type AnyObject, parseApiVersion } from "#api/object.ts";
import { type ApiError, failure } from "#api/status.ts";
import { must } from "#base/assert.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { Converter, ConverterOf } from "../definitions/conversion.ts";
import type { Definition } from "../definitions/definition.ts";
import { CallError } from "../webhooks/call-error.ts";
import type { CallTarget, WebhookCaller } from "../webhooks/caller.ts";
import { inLanes } from "./lanes.ts";
import type { ConversionFailure, ConversionMetrics } from "./metrics.ts";
import {
  ConversionError,
  conversionQuestion,
  readConverted,
  type ReviewVersion,
  reviewVersionOf,
} from "./review.ts";

interface BatchLimits {
  readonly batchObjectsMax: number;
  readonly batchBytesMax: number;
  readonly batchesAtOnce: number;
}

interface ConverterDeps {
  readonly caller: WebhookCaller;
  readonly random: Random;
  readonly clock: Clock;
  readonly metrics: ConversionMetrics;
}

/** Upstream's timeout. */
const timeoutMs = 30_000;

export function webhookConverters(deps: ConverterDeps, limits: BatchLimits): ConverterOf {
  return (definition) => {
    if (definition.spec.conversion?.strategy !== "Webhook") return undefined;
    return webhookConverter(deps, limits, definition);
  };
}

function webhookConverter(
  deps: ConverterDeps,
  limits: BatchLimits,
  { metadata, spec }: Definition,
): Converter {
  const { clientConfig = {}, conversionReviewVersions = [] } = spec.conversion?.webhook ?? {};
  const { caBundle = "" } = clientConfig;
  const { name = "" } = metadata ?? {};
  // A bundle of white space only counts as absent, as upstream.
  const isBlank = Buffer.from(caBundle, "base64").toString().trim() === "";
  const target: CallTarget = {
    id: `conversion/${name}`,
    target: { ...clientConfig, caBundle: isBlank ? "" : caBundle },
    timeoutMs,
  };
  const version = reviewVersionOf(conversionReviewVersions);
  return {
    async convertMany(objects, apiVersion) {
      const missing = objects.filter((object) => object.apiVersion !== apiVersion);
      if (missing.length === 0) return objects;
      if (version === undefined) throw failed("no supported conversion review versions");
      const batches = batchesOf(missing, limits);
      const call = (batch: readonly AnyObject[]): Promise<readonly AnyObject[]> =>
        convertBatch(deps, target, { definition: name, version, apiVersion, objects: batch });
      const converted = (await inLanes(batches, limits.batchesAtOnce, call)).flat();
      let next = 0;
      return objects.map((object) =>
        object.apiVersion === apiVersion
          ? object
          : must(converted[next++], "a conversion without its object"),
      );
    },
  };
}

/** Splits the objects into batches, in order. An object larger than the limit of bytes is a batch alone. */
function batchesOf(objects: readonly AnyObject[], limits: BatchLimits): readonly AnyObject[][] {
  const batches: AnyObject[][] = [];
  let batch: AnyObject[] = [];
  let bytes = 0;
  for (const object of objects) {
    const length = JSON.stringify(object).length;
    const isFull = batch.length >= limits.batchObjectsMax || bytes + length > limits.batchBytesMax;
    if (isFull && batch.length > 0) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(object);
    bytes += length;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

interface Batch {
  /** Name of the definition. */
  readonly definition: string;
  readonly version: ReviewVersion;
  readonly apiVersion: string;
  readonly objects: readonly AnyObject[];
}

async function convertBatch(
  { caller, random, clock, metrics }: ConverterDeps,
  target: CallTarget,
  batch: Batch,
): Promise<readonly AnyObject[]> {
  const asked = { ...batch, uid: random.uuid() };
  const [first] = batch.objects;
  const prefix = `conversion webhook for ${first?.apiVersion ?? ""}, Kind=${first?.kind ?? ""}`;
  const startMs = clock.monotonicMs();
  const count = (failure?: ConversionFailure): void =>
    metrics.called({
      definition: batch.definition,
      fromVersion: versionOf(first?.apiVersion ?? ""),
      toVersion: versionOf(batch.apiVersion),
      seconds: (clock.monotonicMs() - startMs) / 1000,
      ...given({ failure }),
    });
  try {
    const answer = await caller.call(target, conversionQuestion(asked), undefined);
    const converted = readConverted(answer, asked);
    count();
    return converted;
  } catch (error) {
    if (error instanceof ConversionError) count(error.failure);
    else if (error instanceof CallError) count("conversion_webhook_call_failure");
    if (error instanceof ConversionError)
      throw failed(error.isWhole ? error.message : `${prefix} ${error.message}`);
    // Any other error is a bug of this server.
    if (!(error instanceof CallError)) throw error;
    throw failed(`${prefix} failed: ${error.message.replace(/^failed to call webhook: /, "")}`);
  }
}

function versionOf(apiVersion: string): string {
  return parseApiVersion(apiVersion)?.version ?? "";
}

/** Returns an error in the form in which upstream reports one that is no API status. */
function failed(text: string): ApiError {
  return failure(500, "", text);
}
