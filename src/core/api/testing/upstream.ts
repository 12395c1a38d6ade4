/**
 * For tests: data that Kubernetes publishes for the version that this project claims: an object of every kind with
 * every field set, as JSON and as protobuf, and the swagger of a server. Both are Kubernetes' own files, under the same
 * licence as this project, packed by `tools/pack-samples.mjs`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { AnyObject, JsonObject } from "../object.ts";
import { builtinResources } from "../schema/resources.ts";
import type { ResourceInfo } from "../schema/resource-info.ts";

interface Sample {
  /** `core.v1.Pod`, `apps.v1.Deployment`. */
  readonly name: string;
  readonly object: AnyObject;
  /** With the envelope used between servers and clients: magic number, type, object. */
  readonly protobuf: Uint8Array;
}

export interface Swagger {
  readonly definitions: Readonly<Record<string, JsonObject>>;
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

type Packed = Readonly<Record<string, { readonly object: AnyObject; readonly protobuf: string }>>;

/** Each call reads the file, because a test may change what it gets. */
export function upstreamSamples(): readonly Sample[] {
  const packed = unpack("objects") as Packed; // as packed
  return Object.entries(packed).map(([name, { object, protobuf }]) => ({
    name,
    object,
    protobuf: Buffer.from(protobuf, "base64"),
  }));
}

interface ResourceSample extends Sample {
  readonly info: ResourceInfo;
}

/** One sample per built-in resource for whose kind upstream has one. */
export function resourceSamples(): readonly ResourceSample[] {
  const samples = new Map(upstreamSamples().map((sample) => [sample.name, sample]));
  return builtinResources().flatMap((info) => {
    const group = info.group === "" ? "core" : info.group;
    const sample = samples.get(`${group}.${info.version}.${info.kind}`);
    return sample === undefined ? [] : [{ ...sample, info }];
  });
}

export function upstreamSwagger(): Swagger {
  return unpack("swagger") as Swagger; // as packed
}

function unpack(name: string): unknown {
  const file = join(import.meta.dirname, "upstream", `${name}.json.br`);
  return JSON.parse(brotliDecompressSync(readFileSync(file)).toString());
}
