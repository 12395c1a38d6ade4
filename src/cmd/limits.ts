/** The limits `up` runs with: libraries have no defaults of their own, this file decides them. */

/** History kept for watchers that resume, and how often what is older is forgotten (upstream: 5 min). */
export const history = { keepMs: 5 * 60_000, compactEveryMs: 5 * 60_000 };

/** Events vanish after an hour, as upstream's --event-ttl. */
export const eventTtlSeconds = 3600;

/** Watches get this long to end, and requests to finish, after SIGTERM. */
export const shutdownMs = 5_000;

/** First address of the service range, which the `kubernetes` Service gets. */
export const serviceAddress = "10.96.0.1";

/** Hollow nodes one process takes; beyond it, start more processes. */
export const nodesMax = 50_000;
