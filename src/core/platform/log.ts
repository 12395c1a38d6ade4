/** Structured log lines. A log line never contains a secret, token or key; fields are plain data. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns the same log with `fields` added to each line. */
  child(fields: LogFields): Log;
}

/** Drops every line; for tests that look at behaviour, not at lines. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};
