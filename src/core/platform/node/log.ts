/**
 * Log lines as JSON by pino, one per line.
 *
 * Holds  nobody who does not read the log holds the loop: lines wait for their place in at most `waitingBytesMax`, and
 *        are dropped beyond. What waits when the process ends is written then, as far as it is taken: the last line
 *        before a crash is the one that matters.
 */
import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";
import type { Log, LogFields } from "../log.ts";

const waitingBytesMax = 2 ** 20;

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

interface NodeLogOptions {
  readonly level: LogLevel;
  /** Destination of the lines: a file descriptor (1: standard output, 2: standard error), or a stream. */
  readonly destination: number | DestinationStream;
}

export function nodeLog(options: NodeLogOptions): Log {
  const { destination } = options;
  const stream = typeof destination === "number" ? unhurried(destination) : destination;
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

/** Returns a stream that retries a full pipe later; at the process's end it tries once. */
function unhurried(descriptor: number): DestinationStream {
  let isEnding = false;
  const stream = pino.destination({
    dest: descriptor,
    sync: false,
    maxLength: waitingBytesMax,
    retryEAGAIN: () => !isEnding,
  });
  // A failure to write the log itself cannot be reported.
  stream.on("error", () => {});
  process.on("exit", () => {
    isEnding = true;
    try {
      stream.flushSync();
    } catch {
      // The pipe is full or closed.
    }
  });
  return stream;
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
