/**
 * Aggregated discovery in protobuf: the messages of apidiscovery.k8s.io/v2, which is not a served group and has no
 * schema. The numbers below are field numbers. Texts are written even when empty, as by upstream's encoder.
 *
 *   list          1 metadata, 2 items: group          group     1 metadata, 2 versions
 *   version       1 version, 2 resources, 3 freshness
 *   resource      1 name, 2 kind, 3 scope, 4 singular, 5 verbs, 6 short names, 7 categories, 8 subresources
 *   subresource   1 name, 2 kind, 4 verbs             kind      1 group, 2 version, 3 kind
 */
import { listMetaDefinition, objectMetaDefinition } from "#api/schema/schema.ts";
import { concatBytes } from "#base/bytes.ts";
import type { Steps } from "#base/steps.ts";
import { encodeDefinition } from "#forms/protobuf/encode.ts";
import { envelope } from "#forms/protobuf/envelope.ts";

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface Subresource {
  readonly subresource: string;
  readonly responseKind: Kind;
  readonly verbs: readonly string[];
}

interface Resource {
  readonly resource: string;
  readonly responseKind: Kind;
  readonly scope: string;
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly Subresource[];
}

interface Version {
  readonly version: string;
  readonly resources: readonly Resource[];
  readonly freshness: string;
}

export interface AggregatedDocument {
  readonly kind: "APIGroupDiscoveryList";
  readonly apiVersion: string;
  readonly metadata: object;
  readonly items: readonly { readonly metadata: object; readonly versions: readonly Version[] }[];
}

const encoder = new TextEncoder();

/** The whole answer with its envelope; one step per group. */
export function* aggregatedByteSteps(document: AggregatedDocument): Steps<Uint8Array> {
  const parts = [field(1, encodeDefinition(listMetaDefinition, document.metadata))];
  for (const { metadata, versions } of document.items) {
    const head = encodeDefinition(objectMetaDefinition, metadata);
    parts.push(field(2, head, versions.map(versionBytes)));
    yield;
  }
  return envelope(document, concatBytes(parts));
}

/** Encodes a field with `body`. With `rest`: a message with `body` as its field 1, followed by the rest. */
function field(number: number, body: Uint8Array, rest?: readonly Uint8Array[]): Uint8Array {
  const whole = rest === undefined ? body : concatBytes([field(1, body), ...rest]);
  return concatBytes([Uint8Array.of(number * 8 + 2, ...varint(whole.length)), whole]);
}

function varint(value: number): number[] {
  const bytes = [];
  let left = value;
  for (; left > 0x7f; left >>>= 7) bytes.push((left & 0x7f) | 0x80);
  return [...bytes, left];
}

function text(number: number, value: string): Uint8Array {
  return field(number, encoder.encode(value));
}

function texts(number: number, values: readonly string[] = []): Uint8Array[] {
  return values.map((value) => text(number, value));
}

function versionBytes({ version, resources, freshness }: Version): Uint8Array {
  const parts = [...resources.map(resourceBytes), text(3, freshness)];
  return field(2, encoder.encode(version), parts);
}

function resourceBytes(resource: Resource): Uint8Array {
  const { scope, singularResource, verbs, shortNames, categories, subresources = [] } = resource;
  return field(2, encoder.encode(resource.resource), [
    kindBytes(resource.responseKind),
    text(3, scope),
    text(4, singularResource),
    ...texts(5, verbs),
    ...texts(6, shortNames),
    ...texts(7, categories),
    ...subresources.map(subresourceBytes),
  ]);
}

function subresourceBytes({ subresource, responseKind, verbs }: Subresource): Uint8Array {
  return field(8, encoder.encode(subresource), [kindBytes(responseKind), ...texts(4, verbs)]);
}

function kindBytes({ group, version, kind }: Kind): Uint8Array {
  return field(2, encoder.encode(group), [text(2, version), text(3, kind)]);
}
