/**
 * A typed resource: its bytes are made once per change, as they stand in responses, and shared by all streams.
 *
 * Holds  `version` names content: equal bytes have equal versions, on every replica.
 */
import { anyMessage } from "./message-fields.ts";
import { deltaResource, stateResource } from "./discovery-messages.ts";

/** A cryptographic hash of 128 bits, passed in because pure rooms have none. */
export type Digest = (bytes: Uint8Array) => bigint;

export interface Content {
  /** Digest of the bytes and the name; versions of sets are sums of digests. */
  readonly digest: bigint;
  readonly version: string;
  /** The encoded resource, for a response with the state of the world and for a delta response. */
  readonly stateField: Uint8Array;
  readonly deltaField: Uint8Array;
}

export interface Resource {
  readonly name: string;
  /** Namespace whose readers may read the resource; "" for readers of all namespaces only. */
  readonly scope: string;
  /** Further namespaces that the content reveals; a reader must be able to read them too. */
  readonly alsoOf?: readonly string[];
  /** Whether clients that subscribe to everything get it; other resources must be named. */
  readonly isListed: boolean;
  readonly content: Content;
  /** Returns the content for clients in a zone, in place of `content`. */
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

/** Version of one content (its digest), or of a set (the sum of its digests). */
export function versionText(digest: bigint): string {
  return digest.toString(16).padStart(32, "0");
}

export function addDigests(a: bigint, b: bigint): bigint {
  return BigInt.asUintN(128, a + b);
}

export function contentFor({ content, contentIn }: Resource, zone: string): Content {
  return zone === "" || contentIn === undefined ? content : contentIn(zone);
}
