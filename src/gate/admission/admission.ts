/**
 * The admission room's door: plugins that change (mutate, first) or refuse (validate, after) a write.
 * mutate is idempotent; validate changes nothing. A refusal is a thrown ApiError.
 */
import type { AnyObject } from "#api/object.ts";
import type { Reinvocation } from "./reinvocation.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { UserInfo } from "#platform/http.ts";

export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** What the request was authorised as: `patch` is an UPDATE too. */
  readonly verb?: string;
  readonly info: ResourceInfo;
  /** "" for the object itself. */
  readonly subresource: string;
  /** Of a Namespace: its own name, as upstream; "" for other cluster-scoped objects, and on create with generateName. */
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
   * Stands for one attempt at one write: the same object in its mutate, validate and unreserve calls.
   * Reservations (addresses, quota) hang on it. Absent: the request object itself stands for it.
   */
  readonly attempt?: object;
  /** CreateOptions, UpdateOptions or DeleteOptions of the request, with kind and apiVersion; absent: not known. */
  readonly options?: AnyObject;
  /** Aborts when the client goes away or the deadline of the request passes. */
  readonly ending?: { readonly signal: AbortSignal };
  /** Of this mutating pass; absent in the validating pass. */
  readonly reinvocation?: Reinvocation;
  /** Text for a Warning header. */
  warn(text: string): void;
  /** A line for the audit trail; absent: nobody keeps one. */
  annotate?(key: string, value: string): void;
}

export interface AdmissionPlugin {
  /** Upstream's name: `NamespaceLifecycle`. */
  readonly name: string;
  /**
   * @returns the object to go on with (the same one when nothing changed). Not called on DELETE.
   * Called again, once, when a plugin asked for a second pass (`request.reinvocation`).
   */
  mutate?(request: AdmissionRequest): AnyObject | Promise<AnyObject>;
  /** The mutating pass of an operation that has no object (DELETE): there is nothing to change, only to refuse. */
  judge?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
  /** The write did not happen: give back what mutate or validate reserved for it. Never throws. */
  unreserve?(request: AdmissionRequest): void | Promise<void>;
}

export interface Admission {
  mutate(request: AdmissionRequest): Promise<AnyObject>;
  /** Of a DELETE: the mutating pass, too. */
  validate(request: AdmissionRequest): Promise<void>;
  /** A write that admission let through did not happen: plugins give back what they reserved. */
  unreserve(request: AdmissionRequest): Promise<void>;
}
