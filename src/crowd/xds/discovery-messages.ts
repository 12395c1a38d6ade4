/**
 * The messages of the aggregated discovery service, read and written.
 *
 * After  envoy/service/discovery/v3/discovery.proto: DiscoveryRequest, DiscoveryResponse,
 *        DeltaDiscoveryRequest, DeltaDiscoveryResponse, Resource; field numbers beside each field.
 *        envoy/config/core/v3/base.proto: Node { id = 1, locality = 4, client_features = 10 }, Locality { zone = 2 };
 *        google/rpc/status.proto: Status { code = 1, message = 2 }.
 */
import { concatBytes } from "#base/bytes.ts";
import { readFields, utf8 } from "#wire/protobuf.ts";
import { bytesField, textField, textFields } from "./message-fields.ts";
import { servedTypes } from "./type-urls.ts";

/** Maximum number of features read; Envoy sends about a dozen, and further ones are ignored. */
const featuresMax = 64;

/** Identity that the client claims. It grants no rights. */
export interface XdsNode {
  readonly id: string;
  readonly zone: string;
  /** Features that the client claims to support. */
  readonly features: readonly string[];
}

/** Reason why a client refused a response. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
}

interface CommonRequest {
  /** Identity of the client, in the first request of a stream. */
  node: XdsNode | undefined;
  typeUrl: string;
  /** Nonce of the response that is acknowledged or refused; "" for none. */
  nonce: string;
  /** Undefined: the response is acknowledged. */
  refusal: Refusal | undefined;
}

export type StateRequest = Readonly<
  CommonRequest & {
    /** The last version that was accepted. */
    version: string;
    names: readonly string[];
  }
>;

export type DeltaRequest = Readonly<
  CommonRequest & {
    subscribe: readonly string[];
    unsubscribe: readonly string[];
    /** Versions that the client holds already. By key: name of the resource. */
    versions: ReadonlyMap<string, string>;
  }
>;

/** Reads a DiscoveryRequest. @throws ProtobufError. */
export function readStateRequest(bytes: Uint8Array): StateRequest {
  const names: string[] = [];
  const request = { ...noRequest(), version: "", names };
  readFields(bytes, ({ number, bytes: value }) => {
    switch (number) {
      case 1:
        request.version = utf8(value);
        break;
      case 2:
        request.node = readNode(value);
        break;
      case 3:
        names.push(utf8(value));
        break;
      case 4:
        request.typeUrl = utf8(value);
        break;
      case 5:
        request.nonce = utf8(value);
        break;
      case 6:
        request.refusal = readRefusal(value);
        break;
      default:
    }
  });
  return request;
}

/** Reads a DeltaDiscoveryRequest. @throws ProtobufError. */
export function readDeltaRequest(bytes: Uint8Array): DeltaRequest {
  const subscribe: string[] = [];
  const unsubscribe: string[] = [];
  const versions = new Map<string, string>();
  const request = { ...noRequest(), subscribe, unsubscribe, versions };
  readFields(bytes, ({ number, bytes: value }) => {
    switch (number) {
      case 1:
        request.node = readNode(value);
        break;
      case 2:
        request.typeUrl = utf8(value);
        break;
      case 3:
        subscribe.push(utf8(value));
        break;
      case 4:
        unsubscribe.push(utf8(value));
        break;
      case 5:
        readVersion(value, versions);
        break;
      case 6:
        request.nonce = utf8(value);
        break;
      case 7:
        request.refusal = readRefusal(value);
        break;
      default:
    }
  });
  return request;
}

function noRequest(): CommonRequest {
  return { node: undefined, typeUrl: "", nonce: "", refusal: undefined };
}

/** Reads an entry of map<string, string>: key = 1, value = 2. */
function readVersion(bytes: Uint8Array, versions: Map<string, string>): void {
  let [name, version] = ["", ""];
  readFields(bytes, ({ number, bytes: value }) => {
    if (number === 1) name = utf8(value);
    else if (number === 2) version = utf8(value);
  });
  versions.set(name, version);
}

function readNode(bytes: Uint8Array): XdsNode {
  let [id, zone] = ["", ""];
  const features: string[] = [];
  readFields(bytes, ({ number, bytes: value }) => {
    if (number === 1) id = utf8(value);
    else if (number === 4) zone = readZone(value);
    else if (number === 10 && features.length < featuresMax) features.push(utf8(value));
  });
  return { id, zone, features };
}

function readZone(locality: Uint8Array): string {
  let zone = "";
  readFields(locality, ({ number, bytes }) => {
    if (number === 2) zone = utf8(bytes);
  });
  return zone;
}

function readRefusal(bytes: Uint8Array): Refusal {
  let [code, message] = [0, ""];
  readFields(bytes, ({ number, integer, bytes: value }) => {
    if (number === 1) code = Number(BigInt.asIntN(32, integer));
    else if (number === 2) message = utf8(value);
  });
  return { code, message };
}

/** Encodes a Resource of a delta response: version = 1, resource = 2, name = 3. @returns field 2 of the response. */
export function deltaResource(name: string, version: string, any: Uint8Array): Uint8Array {
  return bytesField(
    2,
    concatBytes([textField(1, version), bytesField(2, any), textField(3, name)]),
  );
}

/** Encodes field 2 of a response with the state of the world. */
export function stateResource(any: Uint8Array): Uint8Array {
  return bytesField(2, any);
}

interface ResponseHead {
  readonly typeUrl: string;
  readonly nonce: string;
}

/** Encoded fields of the served types, made once. Types that clients make up are not kept. */
const typeFields = new Map(servedTypes.map((typeUrl) => [typeUrl, textField(4, typeUrl)] as const));

function typeField(typeUrl: string): Uint8Array {
  return typeFields.get(typeUrl) ?? textField(4, typeUrl);
}

/** Fields of DiscoveryResponse except its resources: version_info = 1, type_url = 4, nonce = 5. */
export function stateHead(head: ResponseHead, version: string): readonly Uint8Array[] {
  return [textField(1, version), typeField(head.typeUrl), textField(5, head.nonce)];
}

/** Fields of DeltaDiscoveryResponse except its resources: type_url = 4, nonce = 5, removed_resources = 6. */
export function deltaHead(head: ResponseHead, removed: readonly string[]): readonly Uint8Array[] {
  const fields = [typeField(head.typeUrl), textField(5, head.nonce)];
  return removed.length === 0 ? fields : [...fields, textFields(6, removed)];
}
