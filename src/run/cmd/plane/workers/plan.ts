/** The plan for the start of a role's serving threads. */

export interface WorkersPlan {
  readonly count: number;
  /** The role's program for a worker: it calls `runWorker`. */
  readonly program: URL;
  /** The role's flags. */
  readonly flags: object;
  /** Texts of audit events that the sinks need. Absent: requests are not audited. */
  readonly audit?: AuditTexts;
}

/** Which texts of an event the sinks need. */
export interface AuditTexts {
  readonly legacy: boolean;
  readonly truncated: boolean;
  /** Whether a response waits until its event is stored. */
  readonly isAwaited: boolean;
}
