/**
 * How a resource stands in a response: as it is, or with a time to live, for delta clients that say that they know it.
 * Such a client forgets a resource that it does not hear of for that time; a heartbeat is its name, its
 * version and the time, without the resource.
 *
 * Not    in the state of the world: Envoy takes a heartbeat of a whole set for an empty set.
 * After  the xDS protocol, "TTL"; the feature is `xds.config.supports-resource-ttl`.
 */
import { concatBytes } from "#base/bytes.ts";
import type { XdsNode } from "./discovery-messages.ts";
import { bytesField, message, numberField, textField } from "./message-fields.ts";
import type { Content } from "./resource.ts";

export type Protocol = "delta" | "state";

export interface ResourceForm {
  field(content: Content): Uint8Array;
  /** Encodes a heartbeat. Undefined: there is no time to live, and so no heartbeats. */
  readonly heartbeat: ((name: string, version: string) => Uint8Array) | undefined;
}

const ttlFeature = "xds.config.supports-resource-ttl";

const plain: Readonly<Record<Protocol, ResourceForm>> = {
  delta: { field: ({ deltaField }) => deltaField, heartbeat: undefined },
  state: { field: ({ stateField }) => stateField, heartbeat: undefined },
};

export class ResourceForms {
  readonly #timed: ResourceForm | undefined;

  /** `ttlMs`: time to live of resources; 0 for none. */
  constructor(ttlMs: number) {
    if (ttlMs > 0) this.#timed = timedForm(bytesField(6, durationOf(ttlMs)));
  }

  of(protocol: Protocol, node: XdsNode | undefined): ResourceForm {
    const knows = protocol === "delta" && node?.features.includes(ttlFeature) === true;
    return knows && this.#timed !== undefined ? this.#timed : plain[protocol];
  }
}

/** Form with a time to live, field 2 of a delta response: Resource { version = 1, resource = 2, name = 3, ttl = 6 }. */
function timedForm(ttl: Uint8Array): ResourceForm {
  // Fields by content, made once for all streams.
  const made = new WeakMap<Content, Uint8Array>();
  return {
    field(content) {
      const known = made.get(content);
      if (known !== undefined) return known;
      const field = bytesField(2, concatBytes([innerOf(content.deltaField), ttl]));
      made.set(content, field);
      return field;
    },
    heartbeat: (name, version) =>
      bytesField(2, message(textField(1, version), textField(3, name), ttl)),
  };
}

/** Content of a field: the bytes after its one-byte tag and its length. */
function innerOf(field: Uint8Array): Uint8Array {
  let at = 1;
  while ((field[at] ?? 0) >= 0x80) at++;
  return field.subarray(at + 1);
}

/** google.protobuf.Duration: seconds = 1, nanos = 2. */
function durationOf(ms: number): Uint8Array {
  return message(numberField(1, Math.floor(ms / 1000)), numberField(2, (ms % 1000) * 1_000_000));
}
