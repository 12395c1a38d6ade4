/**
 * A typed resource: its bytes are made once per change, as they stand in responses, and shared by all streams.
 *
 * Holds  `version` names content: equal bytes have equal versions, on every replica.
 */
import { anyMessage } from "./message-fields.ts";
import { deltaResource, stateResource } from "./discovery-messages.ts";

/** 128 bits of a cryptographic hash: pure rooms have none of their own. */
export type Digest = (bytes: Uint8Array) => bigint;

export interface Content {
  /** Of the bytes and the name: versions of a set are sums of them. */
  readonly digest: bigint;
  readonly version: string;
  /** The field of a response with the state of the world, and of a delta response. */
  readonly stateField: Uint8Array;
  readonly deltaField: Uint8Array;
}

export interface Resource {
  readonly name: string;
  /** The namespace whose readers may read it; "": only readers of all namespaces. */
  readonly scope: string;
  /** Further namespaces that it tells of: a reader must be able to read them too. */
  readonly alsoOf?: readonly string[];
  /** Sent to clients that subscribe to everything; others must name it. */
  readonly isListed: boolean;
  readonly content: Content;
  /** What a client in that zone is sent instead. */
  readonly contentIn?: (zone: string) => Content;
}

export function contentOf(
  digest: Digest,
  name: string,
  typeUrl: string,
  value: Uint8Array,
): Content {
  const any = anyMessage(typeUrl, value);
  const delta = deltaResource(name, "", any);
  const sum = digest(delta);
  const version = versionText(sum);
  const deltaField = deltaResource(name, version, any);
  return { digest: sum, version, stateField: stateResource(any), deltaField };
}

/** Of one content, or of a set: the sum of its digests. */
export function versionText(digest: bigint): string {
  return digest.toString(16).padStart(32, "0");
}

export function addDigests(a: bigint, b: bigint): bigint {
  return BigInt.asUintN(128, a + b);
}

export function contentFor({ content, contentIn }: Resource, zone: string): Content {
  return zone === "" || contentIn === undefined ? content : contentIn(zone);
}
