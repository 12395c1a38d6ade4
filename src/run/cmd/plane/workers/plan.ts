/** How the serving threads of a role are started. */

export interface WorkersPlan {
  readonly count: number;
  /** The role's program for a worker: it calls `runWorker`. */
  readonly program: URL;
  /** The role's flags. */
  readonly flags: object;
  /** Which texts of audit events the sinks need; absent: nothing is kept of requests. */
  readonly audit?: AuditTexts;
}

/** Which texts of an event the sinks need. */
export interface AuditTexts {
  readonly legacy: boolean;
  readonly truncated: boolean;
  /** An answer waits until its event is stored. */
  readonly isAwaited: boolean;
}
