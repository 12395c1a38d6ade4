/**
 * Restricts writes to the leader: a write is sent only while the lease is held.
 *
 * A process that was paused (SIGSTOP, a stalled machine) wakes up between any two instructions. Its next
 * write is checked here first, and is refused. Reads pass, because they change nothing.
 * Bounds  a write that was handed to the socket before the pause may still take effect; the API server's
 *         resourceVersion and UID preconditions decide about it.
 */
import { type ByteTransport, ByteTransportError } from "#platform/byte-transport.ts";
import type { LeaderTerm } from "./election.ts";

const reads: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Rejects writes with ByteTransportError ENOTLEADER while `term` is not held. */
export function fencedTransport(http: ByteTransport, term: LeaderTerm): ByteTransport {
  return {
    send(request) {
      if (reads.has(request.method) || term.isHeld()) return http.send(request);
      const text = `${request.method} ${request.target} was not sent: the leader's lease is not held any more`;
      return Promise.reject(new ByteTransportError(text, "ENOTLEADER"));
    },
    close: () => http.close(),
  };
}
