/** A client of the protocol for tests: writes requests and reads responses. */
import { readFields, utf8 } from "#wire/protobuf.ts";
import { bytesField, message, numberField, textField, textFields } from "../message-fields.ts";
import { headroomBytes } from "../discovery-stream.ts";

interface DeltaAsk {
  readonly type: string;
  readonly subscribe?: readonly string[];
  readonly unsubscribe?: readonly string[];
  readonly versions?: ReadonlyMap<string, string>;
  readonly nonce?: string;
  readonly error?: string;
  readonly node?: {
    readonly id: string;
    readonly zone: string;
    readonly features?: readonly string[];
  };
}

const nothing: Uint8Array = new Uint8Array(0);

function nodeBytes(field: number, node: DeltaAsk["node"]): Uint8Array {
  if (node === undefined) return nothing;
  return bytesField(
    field,
    message(
      textField(1, node.id),
      bytesField(4, textField(2, node.zone)),
      textFields(10, node.features ?? []),
    ),
  );
}

function errorBytes(field: number, error: string | undefined): Uint8Array {
  if (error === undefined) return nothing;
  return bytesField(field, message(numberField(1, 3), textField(2, error)));
}

export function deltaRequest(ask: DeltaAsk): Uint8Array {
  const versions = [...(ask.versions ?? [])].map(([name, version]) =>
    bytesField(5, message(textField(1, name), textField(2, version))),
  );
  return message(
    nodeBytes(1, ask.node),
    textField(2, ask.type),
    textFields(3, ask.subscribe ?? []),
    textFields(4, ask.unsubscribe ?? []),
    ...versions,
    textField(6, ask.nonce ?? ""),
    errorBytes(7, ask.error),
  );
}

interface StateAsk {
  readonly type: string;
  readonly names: readonly string[];
  readonly version?: string;
  readonly nonce?: string;
  readonly error?: string;
  readonly node?: DeltaAsk["node"];
}

export function stateRequest(ask: StateAsk): Uint8Array {
  return message(
    textField(1, ask.version ?? ""),
    nodeBytes(2, ask.node),
    textFields(3, ask.names),
    textField(4, ask.type),
    textField(5, ask.nonce ?? ""),
    errorBytes(6, ask.error),
  );
}

export interface DeltaTold {
  readonly type: string;
  readonly nonce: string;
  /** Resources by name. */
  readonly resources: ReadonlyMap<string, { readonly version: string; readonly any: Uint8Array }>;
  readonly removed: readonly string[];
}

export function readDelta(bytes: Uint8Array): DeltaTold {
  const told = { type: "", nonce: "", resources: new Map(), removed: [] as string[] };
  readFields(bytes, ({ number, bytes: value }) => {
    if (number === 2) {
      const { name, ...rest } = readResource(value);
      told.resources.set(name, rest);
    } else if (number === 4) told.type = utf8(value);
    else if (number === 5) told.nonce = utf8(value);
    else if (number === 6) told.removed.push(utf8(value));
  });
  return told;
}

function readResource(bytes: Uint8Array): { name: string; version: string; any: Uint8Array } {
  const resource = { name: "", version: "", any: nothing };
  readFields(bytes, ({ number, bytes: value }) => {
    if (number === 1) resource.version = utf8(value);
    else if (number === 2) resource.any = value;
    else if (number === 3) resource.name = utf8(value);
  });
  return resource;
}

export interface StateTold {
  readonly type: string;
  readonly nonce: string;
  readonly version: string;
  readonly resources: readonly Uint8Array[];
}

export function readState(bytes: Uint8Array): StateTold {
  const told = { type: "", nonce: "", version: "", resources: [] as Uint8Array[] };
  readFields(bytes, ({ number, bytes: value }) => {
    if (number === 1) told.version = utf8(value);
    else if (number === 2) told.resources.push(value);
    else if (number === 4) told.type = utf8(value);
    else if (number === 5) told.nonce = utf8(value);
  });
  return told;
}

/** The value of an Any. */
export function anyValue(any: Uint8Array): Uint8Array {
  let found = nothing;
  readFields(any, ({ number, bytes }) => {
    if (number === 2) found = bytes;
  });
  return found;
}

/** The message that a sink got in pieces, without its headroom. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces)).subarray(headroomBytes);
}
