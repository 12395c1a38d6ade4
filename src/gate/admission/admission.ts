/**
 * The interface of the admission room: plugins that change a write (mutate, first) or refuse it (validate, after).
 * mutate is idempotent; validate changes nothing. A refusal is a thrown ApiError.
 */
import type { AnyObject } from "#api/object.ts";
import type { Reinvocation } from "./reinvocation.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { UserInfo } from "#platform/http.ts";

export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** The authorised verb: `patch` is an UPDATE too. */
  readonly verb?: string;
  readonly info: ResourceInfo;
  /** "" for the object itself. */
  readonly subresource: string;
  /** As upstream, a Namespace's own name for a Namespace; "" for other cluster-scoped objects, and on create with generateName. */
  readonly namespace: string;
  /** May be "" on create with generateName. */
  readonly name: string;
  /** The new object (decoded and defaulted); absent on DELETE. */
  readonly object: AnyObject | undefined;
  /** The stored object; absent on CREATE. */
  readonly oldObject: AnyObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /**
   * Identifies one attempt at one write: the same object in its mutate, validate and unreserve calls. Reservations
   * (addresses, quota) are keyed by it. Absent: the request object itself identifies the attempt.
   */
  readonly attempt?: object;
  /** CreateOptions, UpdateOptions or DeleteOptions of the request, with kind and apiVersion; absent: not known. */
  readonly options?: AnyObject;
  /** Aborts when the client goes away or the deadline of the request passes. */
  readonly ending?: {
    readonly signal: AbortSignal;
    /** Monotonic; absent: the request has none. */
    readonly deadlineMs?: number | undefined;
  };
  /** Of this mutating pass; absent in the validating pass. */
  readonly reinvocation?: Reinvocation;
  /** Adds a Warning header. */
  warn(text: string): void;
  /** Adds an annotation to the audit event; absent: auditing is off. */
  annotate?(key: string, value: string): void;
}

export interface AdmissionPlugin {
  /** Upstream's name, such as `NamespaceLifecycle`. */
  readonly name: string;
  /**
   * @returns the object to continue with (the same one when nothing changed). Not called on DELETE. Called a second
   * time when a plugin asked for a second pass (`request.reinvocation`), never more often.
   */
  mutate?(request: AdmissionRequest): AnyObject | Promise<AnyObject>;
  /** Runs in the mutating pass of a DELETE, which has no object: it can only refuse. */
  judge?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
  /** Releases what mutate or validate reserved for a write that did not happen. Never throws. */
  unreserve?(request: AdmissionRequest): void | Promise<void>;
}

export interface Admission {
  mutate(request: AdmissionRequest): Promise<AnyObject>;
  /** For a DELETE, runs the mutating pass too. */
  validate(request: AdmissionRequest): Promise<void>;
  /** An admitted write did not happen: plugins release what they reserved. */
  unreserve(request: AdmissionRequest): Promise<void>;
}
