/** What the thread that orders writes tells a thread that serves, and back. Plain data, ports, and shared memory. */
import type { MessagePort } from "node:worker_threads";
import type { StagedEvent } from "#server/audit/event.ts";
import type { SharedState } from "#store/shared-state.ts";
import type { PlaneOptions } from "../options.ts";
import type { AuditTexts } from "./plan.ts";

/** Of the plane's options, those that are decided once for all threads, and are plain data. */
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

/** With which a worker starts. */
export interface WorkerStart {
  readonly index: number;
  readonly count: number;
  /** Threads that hold seats: the workers, and the first thread where it has clients of its own. */
  readonly seatHolders: number;
  readonly flags: object;
  readonly options: SharedOptions;
  readonly progress: SharedArrayBuffer;
  readonly state: SharedState;
  readonly storePort: MessagePort;
  /** Absent: nothing is kept of requests. */
  readonly audit?: AuditTexts;
}

export interface ForwardedEvent extends Pick<StagedEvent, "stage" | "level" | "writer"> {
  readonly id: number;
  readonly json: string;
  /** "": not needed. */
  readonly truncatedJson: string;
  readonly legacy: string;
}

export interface StoredEvent {
  readonly id: number;
  readonly isStored: boolean;
  /** Plugins that lost it, and whether it is a stranger's. */
  readonly lost: readonly (readonly [plugin: string, ofStranger: boolean])[];
}

export type ToWorker =
  /** The start of the first thread is over. */
  | { readonly kind: "started" }
  /** Not ready from now on. */
  | { readonly kind: "leave" }
  | { readonly kind: "stop" }
  /** Send your metrics. */
  | { readonly kind: "metrics"; readonly asked: number }
  /** The metrics of all. */
  | { readonly kind: "page"; readonly asked: number; readonly text: string }
  | {
      readonly kind: "stored";
      readonly events: readonly StoredEvent[];
      /** Why sinks cannot store; "": they can. */
      readonly problem: string;
    };

export type FromWorker =
  | { readonly kind: "listening"; readonly host: string; readonly port: number }
  | { readonly kind: "failed"; readonly message: string; readonly code: string }
  | { readonly kind: "metrics"; readonly asked: number; readonly text: string }
  /** Send the metrics of all. */
  | { readonly kind: "page"; readonly asked: number }
  | { readonly kind: "events"; readonly events: readonly ForwardedEvent[] };
