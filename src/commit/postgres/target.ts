/**
 * Which PostgreSQL database a URL names. Only what is written down here is read of it: no options, no files, no sockets, so a
 * URL from a file of others changes nothing but where the connection goes.
 *
 *   postgres://user[:password]@host[:port]/database[?sslmode=disable|verify-full]
 */

export interface PostgresTarget {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Must never appear in a log, an error or a metric. */
  readonly password: string;
  readonly database: string;
  readonly isClear: boolean;
}

const portDefault = 5432;
const namesMax = 63;

/** Its text names the mistake without the URL itself, which may contain a password. */
export class PostgresUrlError extends Error {
  constructor(what: string) {
    super(`a PostgreSQL URL ${what}, as postgres://user@host:5432/database`);
    this.name = "PostgresUrlError";
  }
}

/** Parses a URL. `password`: used when the URL has none. Throws PostgresUrlError. */
export function parseTarget(text: string, password: string): PostgresTarget {
  const url = URL.parse(text);
  if (url === null || !["postgres:", "postgresql:"].includes(url.protocol)) {
    throw new PostgresUrlError("begins with postgres:// and names a host");
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const user = part(url.username, "user");
  const database = part(url.pathname.slice(1), "database");
  if (host === "" || url.hash !== "" || host.includes("%")) {
    throw new PostgresUrlError("names a host, and has no fragment");
  }
  return {
    host,
    port: url.port === "" ? portDefault : Number(url.port),
    user,
    password: url.password === "" ? password : decoded(url.password, "password"),
    database,
    isClear: isClear(url.searchParams),
  };
}

/** Returns the target's name for texts and labels, without user and password. */
export function nameOf({ host, port, database }: PostgresTarget): string {
  return `postgres://${host.includes(":") ? `[${host}]` : host}:${port}/${database}`;
}

function isClear(parameters: URLSearchParams): boolean {
  for (const name of parameters.keys()) {
    if (name !== "sslmode") throw new PostgresUrlError(`has sslmode at most, not ${name}`);
  }
  const mode = parameters.get("sslmode") ?? "verify-full";
  if (mode !== "disable" && mode !== "verify-full") {
    throw new PostgresUrlError("has sslmode disable or verify-full: others check no name");
  }
  return mode === "disable";
}

function part(text: string, what: string): string {
  const name = decoded(text, what);
  if (/^[^\0/]+$/.test(name) && name.length <= namesMax) return name;
  throw new PostgresUrlError(`names a ${what} of 1 to ${namesMax} characters`);
}

function decoded(text: string, what: string): string {
  try {
    const name = decodeURIComponent(text);
    if (!name.includes("\0")) return name;
  } catch {
    // The error is thrown below.
  }
  throw new PostgresUrlError(`has a ${what} that is not percent-encoded`);
}
