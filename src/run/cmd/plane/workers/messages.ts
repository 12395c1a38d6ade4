/** The messages between the thread that orders writes and a serving thread: plain data, ports, and shared memory. */
import type { MessagePort } from "node:worker_threads";
import type { StagedEvent } from "#server/audit/event.ts";
import type { SharedState } from "#store/shared-state.ts";
import type { PlaneOptions } from "../options.ts";
import type { AuditTexts } from "./plan.ts";

/** The plane options that are decided once for all threads and are plain data. */
export type SharedOptions = Pick<
  PlaneOptions,
  | "pki"
  | "host"
  | "port"
  | "clientCa"
  | "issuer"
  | "olderIssuers"
  | "keysUrl"
  | "advertiseAddress"
  | "serviceAddresses"
  | "eventTtlSeconds"
  | "hasBootstrapTokens"
>;

/** The start data of a worker. */
export interface WorkerStart {
  readonly index: number;
  readonly count: number;
  /** Number of threads that hold seats: the workers, and the first thread where it has clients of its own. */
  readonly seatHolders: number;
  readonly flags: object;
  readonly options: SharedOptions;
  readonly progress: SharedArrayBuffer;
  readonly state: SharedState;
  readonly storePort: MessagePort;
  /** Texts that the audit sinks need. Absent: requests are not audited. */
  readonly audit?: AuditTexts;
}

export interface ForwardedEvent extends Pick<StagedEvent, "stage" | "level" | "writer"> {
  readonly id: number;
  readonly json: string;
  /** JSON of the truncated event. "": no sink needs it. */
  readonly truncatedJson: string;
  readonly legacy: string;
}

export interface StoredEvent {
  readonly id: number;
  readonly isStored: boolean;
  /** Plugins that lost the event, with whether its writer is a stranger. */
  readonly lost: readonly (readonly [plugin: string, ofStranger: boolean])[];
}

export type ToWorker =
  /** Says that the start of the first thread is complete. */
  | { readonly kind: "started" }
  /** Makes the worker report not ready from now on. */
  | { readonly kind: "leave" }
  | { readonly kind: "stop" }
  /** Requests the worker's metrics. */
  | { readonly kind: "metrics"; readonly asked: number }
  /** Contains the metrics of all threads. */
  | { readonly kind: "page"; readonly asked: number; readonly text: string }
  | {
      readonly kind: "stored";
      readonly events: readonly StoredEvent[];
      /** Why the sinks cannot store events, or "" when they can. */
      readonly problem: string;
    };

export type FromWorker =
  | { readonly kind: "listening"; readonly host: string; readonly port: number }
  | { readonly kind: "failed"; readonly message: string; readonly code: string }
  | { readonly kind: "metrics"; readonly asked: number; readonly text: string }
  /** Requests the metrics of all threads. */
  | { readonly kind: "page"; readonly asked: number }
  | { readonly kind: "events"; readonly events: readonly ForwardedEvent[] };
