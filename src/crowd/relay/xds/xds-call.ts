/**
 * One call of the aggregated discovery service: who calls, what they may see, and when the stream is
 * written to. What is sent is `DiscoveryStream`'s to say.
 *
 * Holds  no request is looked at before it is known who sends it; rights are asked about again every
 *        `reviewMs`, and the call ends when one is gone. An upstream that is away ends nothing.
 */
import { Buffer } from "node:buffer";
import { ApiError } from "#api/status.ts";
import type { PlainRequest } from "#platform/http.ts";
import type { Deadlines, DeadlineStep, Expiring } from "#platform/deadlines.ts";
import { Code, framed, GrpcError } from "#wire/grpc.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { DiscoveryStream, headroomBytes } from "#xds/discovery-stream.ts";
import { readRight } from "#xds/scope-rights.ts";
import { StreamEndError } from "#xds/stream-end.ts";
import type { Refusal } from "#xds/discovery-messages.ts";
import type { ResourceForms } from "#xds/resource-forms.ts";
import type { ResourceTable } from "#xds/resource-table.ts";
import type { Caller, EntryPoint } from "../access/entry-point.ts";
import type { Question } from "../access/question.ts";
import type { XdsLimits } from "./limits.ts";
import type { XdsMetrics } from "./xds-metrics.ts";

/** The methods used of a gRPC server's stream; etcd's `ServerStream` has them. */
export interface XdsTransport {
  send(withHeadroom: Buffer): void;
  sendPieces(pieces: readonly Buffer[]): void;
  readonly backlogBytes: number;
  onDrain(f: () => void): void;
  end(): void;
  fail(error: unknown): void;
  readonly isClosed: boolean;
}

/** Dependencies that all calls share. */
export interface XdsShared {
  readonly door: EntryPoint;
  readonly deadlines: Deadlines;
  readonly metrics: XdsMetrics;
  readonly limits: XdsLimits;
  readonly tableOf: (typeUrl: string) => ResourceTable;
  readonly scopeOf: (typeUrl: string, name: string) => string;
  readonly takeNames: (change: number) => boolean;
  /** Calls `pump` once in a later turn of the loop. */
  readonly wake: (call: XdsCall) => void;
  readonly closed: (call: XdsCall) => void;
  readonly forms: ResourceForms;
  readonly now: () => string;
}

export class XdsCall implements Expiring {
  readonly stream: DiscoveryStream;
  readonly #shared: XdsShared;
  readonly #transport: XdsTransport;
  readonly #request: PlainRequest;
  #caller: Caller;
  /** Requests that arrived before the caller was identified. Undefined: the caller is identified. */
  #early: Buffer[] | undefined = [];
  #reviewStep: DeadlineStep | undefined;
  #isClosed = false;
  #isDraining = false;

  constructor(
    shared: XdsShared,
    transport: XdsTransport,
    { request, protocol }: { readonly request: PlainRequest; readonly protocol: "delta" | "state" },
  ) {
    this.#shared = shared;
    this.#transport = transport;
    this.#request = request;
    const { limits } = shared;
    this.stream = new DiscoveryStream(
      {
        ...shared,
        ask: (right) => void this.#decide(right),
        wake: () => shared.wake(this),
        answered: (typeUrl, refusal) => this.#answered(typeUrl, refusal),
        sink: {
          get isFull() {
            return transport.backlogBytes > limits.backlogBytesMax;
          },
          send: (pieces) => this.#send(pieces),
        },
      },
      limits,
      protocol,
    );
    void this.#identify();
  }

  /** Handles a request; `bytes` is borrowed until return. Throws GrpcError. */
  message(bytes: Buffer): void {
    if (this.#isClosed) return;
    if (this.#early === undefined) return this.#receive(bytes);
    if (this.#early.length >= this.#shared.limits.earlyRequestsMax) {
      throw new GrpcError(Code.resourceExhausted, "too many requests before the first answer");
    }
    this.#early.push(Buffer.from(bytes));
  }

  /** The client sends no more requests, so it cannot acknowledge anything; the call ends. */
  halfClosed(): void {
    this.close();
    this.#transport.end();
  }

  closed(): void {
    this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#early = undefined;
    if (this.#reviewStep !== undefined) this.#shared.deadlines.delete(this, this.#reviewStep);
    this.stream.close();
    this.#shared.closed(this);
  }

  /** Ends the call with an error. */
  fail(error: unknown): void {
    if (this.#isClosed) return;
    const { reason, error: told } = endOf(error);
    this.#shared.metrics.ended.add([reason]);
    this.close();
    this.#transport.fail(told);
  }

  pump(): void {
    if (this.#isClosed) return;
    this.#orFail(() => this.stream.pump());
    const { backlogBytesMax } = this.#shared.limits;
    if (this.#isDraining || this.#transport.backlogBytes <= backlogBytesMax) return;
    this.#isDraining = true;
    this.#transport.onDrain(() => {
      this.#isDraining = false;
      this.#shared.wake(this);
    });
  }

  /** Called when the rights are due for a review. */
  expire(): void {
    this.#reviewStep = undefined;
    void this.#review();
  }

  async #identify(): Promise<void> {
    try {
      this.#caller = await this.#shared.door.caller(this.#request);
    } catch (error) {
      return this.fail(error);
    }
    if (this.#isClosed) return;
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#armReview();
    for (const bytes of early) this.#orFail(() => this.#receive(bytes));
  }

  #receive(bytes: Buffer): void {
    if (this.#isClosed) return;
    try {
      this.stream.receive(bytes);
    } catch (error) {
      this.fail(error);
    }
  }

  async #decide(right: string): Promise<void> {
    try {
      const isAllowed = await this.#isAllowed(right);
      if (!this.#isClosed) this.stream.decide(right, isAllowed);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Whether the caller has the right. Throws when there is no verdict: the upstream is unreachable, or the credential is invalid. */
  async #isAllowed(right: string): Promise<boolean> {
    const { door } = this.#shared;
    try {
      for (const question of questionsOf(right)) await door.authorize(this.#caller, question);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 403) return false;
      throw error;
    }
  }

  async #review(): Promise<void> {
    try {
      await this.#shared.door.caller(this.#request);
      for (const right of this.stream.scopes) {
        const isAllowed = await this.#isAllowed(right);
        if (this.#isClosed) return;
        this.stream.decide(right, isAllowed);
      }
    } catch (error) {
      if (!isOutage(error)) return this.fail(error);
    }
    if (!this.#isClosed) this.#armReview();
  }

  #armReview(): void {
    const { deadlines, limits } = this.#shared;
    this.#reviewStep = deadlines.add(this, limits.reviewMs);
  }

  #answered(typeUrl: string, refusal: Refusal | undefined): void {
    const { metrics, now } = this.#shared;
    const time = refusal === undefined ? "" : now();
    metrics.answered(typeUrl, { node: this.stream.nodeId, time }, refusal);
  }

  #send(pieces: readonly Uint8Array[]): void {
    const { metrics } = this.#shared;
    let bytes = 0;
    for (const piece of pieces) bytes += piece.length;
    metrics.responses.count++;
    metrics.bytes.count += bytes;
    const [first, ...rest] = pieces.map(({ buffer, byteOffset, length }) =>
      Buffer.from(buffer as ArrayBuffer, byteOffset, length),
    );
    if (first === undefined) return;
    if (rest.length === 0) return this.#transport.send(first);
    // The prefix contains the length of all pieces.
    framed(first);
    first.writeUInt32BE(bytes - headroomBytes, 1);
    this.#transport.sendPieces([first, ...rest]);
  }

  #orFail(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.fail(error);
    }
  }
}

const kinds = [
  { group: "", version: "v1", resource: "services" },
  { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" },
];
const gatewayGroup = { group: "gateway.networking.k8s.io", version: "v1" };
const ofAll = [
  { group: "networking.k8s.io", version: "v1", resource: "ingresses" },
  ...["gateways", "httproutes", "grpcroutes"].map((resource) => ({ ...gatewayGroup, resource })),
];

/** Returns the rights on the source resources of a namespace, with Ingresses and the Gateway API for all namespaces; or on a collection. */
function questionsOf(right: string): readonly Question[] {
  const { collection, scope: namespace } = readRight(right);
  const ofDiscovery = namespace === "" ? [...kinds, ...ofAll] : kinds;
  const read = collection === "" ? ofDiscovery : [kindOf(collection)];
  return read.flatMap((kind) =>
    ["list", "watch"].map((verb) => ({ verb, ...kind, subresource: "", namespace, name: "" })),
  );
}

/** Parses a name in the form of kindId. */
function kindOf(id: string): { group: string; version: string; resource: string } {
  const [resource = "", version = "", group = ""] = id.split("/").reverse();
  return { group, version, resource };
}

function isOutage(error: unknown): boolean {
  return error instanceof ApiError && error.code !== 401 && error.code !== 403;
}

const codes = {
  invalid: Code.invalidArgument,
  limit: Code.resourceExhausted,
  forbidden: Code.permissionDenied,
  behind: Code.unavailable,
} as const;

/** Returns the error that the client gets. The transport logs any other error and answers "internal error". */
function endOf(error: unknown): { readonly reason: string; readonly error: unknown } {
  if (error instanceof StreamEndError) {
    return { reason: error.reason, error: new GrpcError(codes[error.reason], error.message) };
  }
  if (error instanceof ProtobufError) {
    return { reason: "invalid", error: new GrpcError(Code.invalidArgument, error.message) };
  }
  if (error instanceof GrpcError) return { reason: "stopping", error };
  if (!(error instanceof ApiError)) return { reason: "internal", error };
  switch (error.code) {
    case 401:
      return {
        reason: "unauthenticated",
        error: new GrpcError(Code.unauthenticated, error.message),
      };
    case 403:
      return { reason: "forbidden", error: new GrpcError(Code.permissionDenied, error.message) };
    case 429:
      return { reason: "limit", error: new GrpcError(Code.resourceExhausted, error.message) };
    default:
      return { reason: "unavailable", error: new GrpcError(Code.unavailable, error.message) };
  }
}
