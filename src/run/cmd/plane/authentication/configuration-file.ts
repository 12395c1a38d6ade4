/**
 * A configuration file that an operator may change while the process runs.
 *
 * Holds  a file that is half written, gone or wrong is not taken: what was read last goes on, and the file is read
 *        again with its next change. Each change is tried once, and told in the log and to `observe`.
 *        A reading may take a while, as where it opens other files: until then what was read before goes on.
 * Cost   a look at the file's times when its value is asked for, at most once in `lookEveryMs`.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { ConfigurationError } from "#auth/configuration/shape.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { parseYaml, repeatedKeysMessage } from "#wire/yaml.ts";

/** Interval between two checks of the file. Upstream uses file system notifications and a check every minute. */
const lookEveryMs = 1_000;
const limits = { bytesMax: 1024 * 1024, depthMax: 32, aliasMax: 100 };

export interface ReadFile<T> {
  readonly path: string;
  /** Name of the configuration: `authentication` or `authorization`. */
  readonly what: string;
  /** Parses the file. @throws ConfigurationError, or rejects with it. */
  readonly read: (value: unknown) => T | Promise<T>;
  readonly words: FileWords;
  readonly text: string;
  readonly first: T;
}

/** Upstream's error texts for a file. */
export interface FileWords {
  readonly unread: (why: string) => string;
  readonly malformed: (why: string) => string;
}

/** Reads the file at the start of the process. Rejects with ConfigurationError. */
export async function readConfigurationFile<T>(
  file: Omit<ReadFile<T>, "text" | "first">,
): Promise<ReadFile<T>> {
  const { text, value } = load(file.path, file.words);
  return { ...file, text, first: await file.read(value) };
}

interface Loaded {
  readonly text: string;
  readonly value: unknown;
}

function load(path: string, words: FileWords): Loaded {
  const failed = (why: string): ConfigurationError => new ConfigurationError(words.malformed(why));
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigurationError(words.unread(readFault(path, error)), { cause: error });
  }
  if (text === "") throw failed("empty config data");
  const parsed = parseYaml(text, limits);
  if (parsed.kind !== "ok") throw failed(parsed.message);
  const { repeatedKeys = [] } = parsed;
  if (repeatedKeys.length > 0) {
    throw failed(`strict decoding error: ${repeatedKeysMessage(repeatedKeys)}`);
  }
  return { text, value: parsed.value };
}

/** Returns the error text that Go would give. */
function readFault(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const known = { ENOENT: "no such file or directory", EACCES: "permission denied" };
  if (code === "ENOENT" || code === "EACCES") return `open ${path}: ${known[code]}`;
  return code === "EISDIR" ? `read ${path}: is a directory` : message;
}

/** `hash`: hash of the accepted text, `sha256:` and hex. */
export interface ReloadObserver {
  reloaded(hash: string): void;
  failed(): void;
}

export class ConfigurationFile<T> {
  readonly #deps: { readonly clock: Clock; readonly log: Log; readonly observe: ReloadObserver };
  readonly #file: ReadFile<T>;
  #value: T;
  #text: string;
  #stamp: string;
  #lookMs: number;

  constructor(
    deps: { readonly clock: Clock; readonly log: Log; readonly observe: ReloadObserver },
    file: ReadFile<T>,
  ) {
    this.#deps = deps;
    this.#file = file;
    this.#value = file.first;
    this.#text = file.text;
    // An empty stamp makes the first check find a change since the first reading.
    this.#stamp = "";
    this.#lookMs = deps.clock.monotonicMs() + lookEveryMs;
  }

  /** Returns the present value, which changes only when the file has changed to a usable one. */
  current(): T {
    const now = this.#deps.clock.monotonicMs();
    if (now >= this.#lookMs) {
      this.#lookMs = now + lookEveryMs;
      this.#look();
    }
    return this.#value;
  }

  #look(): void {
    const { path, read, words } = this.#file;
    const stamp = stampOf(path);
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    try {
      const { text, value } = load(path, words);
      if (text === this.#text) return;
      this.#text = text;
      const next = read(value);
      if (!(next instanceof Promise)) this.#take(text, next);
      else {
        next.then(
          (taken) => this.#take(text, taken),
          (error: unknown) => this.#refuse(error),
        );
      }
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Ignores the value when the file has changed again during the reading. */
  #take(text: string, value: T): void {
    if (text !== this.#text) return;
    const { log, observe } = this.#deps;
    this.#value = value;
    observe.reloaded(hashOf(text));
    const { what, path } = this.#file;
    log.info(`the ${what} configuration was read again`, { path });
  }

  /** Logs a configuration error. Throws any other error, which is a bug, to the supervisor. */
  #refuse(error: unknown): void {
    if (!(error instanceof ConfigurationError)) throw error;
    const { log, observe } = this.#deps;
    observe.failed();
    const { what, path } = this.#file;
    const why = { path, error: error.message };
    log.error(`a changed ${what} configuration was not taken: what was read before goes on`, why);
  }
}

/** Returns `sha256:` and hex, upstream's label of the configuration in force. */
export function hashOf(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** Returns a text that changes with each writing, because a replaced file has another inode. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? "none" : `${stat.ino}.${stat.size}.${stat.mtimeNs}`;
}
