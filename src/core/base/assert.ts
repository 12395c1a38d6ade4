/**
 * Assertions: a broken invariant is a bug, and a bug stops the process.
 *
 * Only `cmd` catches AssertionError: it prints the error and ends the process (ARCHITECTURE.md, Errors).
 */
export class AssertionError extends Error {
  readonly context: Readonly<Record<string, unknown>>;

  constructor(message: string, context: Readonly<Record<string, unknown>>) {
    super(`${message} ${JSON.stringify(context, assertionReplacer)}`);
    this.name = "AssertionError";
    this.context = context;
  }
}

/** Throws AssertionError when `condition` is false. `context` must not contain secrets. */
export function assert(
  condition: boolean,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
): asserts condition {
  if (!condition) throw new AssertionError(message, context);
}

/** Returns `value`, which the caller knows to exist. For look-ups that cannot miss. */
export function must<T>(value: T | undefined | null, message: string): T {
  if (value === undefined || value === null) throw new AssertionError(message, {});
  return value;
}

/** For the default arm of a switch over a closed union: a new variant breaks the build first. */
export function unreachable(value: never): never {
  throw new AssertionError("unreachable", { value });
}

function assertionReplacer(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
