/**
 * Log lines as JSON by pino, one per line, written synchronously: the last line before a crash is
 * the one that matters. At info level and below the rates this product logs at, that costs nothing.
 */
import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";
import type { Log, LogFields } from "../log.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

interface NodeLogOptions {
  readonly level: LogLevel;
  /** Where lines go; a file descriptor (1: standard output, 2: standard error), or a stream. */
  readonly destination: number | DestinationStream;
}

export function nodeLog(options: NodeLogOptions): Log {
  const { destination } = options;
  const stream =
    typeof destination === "number"
      ? pino.destination({ dest: destination, sync: true })
      : destination;
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  return new NodeLog(logger);
}

class NodeLog implements Log {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  debug(message: string, fields?: LogFields): void {
    this.#logger.debug(fields ?? {}, message);
  }

  info(message: string, fields?: LogFields): void {
    this.#logger.info(fields ?? {}, message);
  }

  warn(message: string, fields?: LogFields): void {
    this.#logger.warn(fields ?? {}, message);
  }

  error(message: string, fields?: LogFields): void {
    this.#logger.error(fields ?? {}, message);
  }

  child(fields: LogFields): Log {
    return new NodeLog(this.#logger.child(fields));
  }
}
