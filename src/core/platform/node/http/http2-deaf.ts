/**
 * HTTP/2 streams whose clients take nothing: the stream is cut, other streams of its connection go on. A client
 * that does not answer a PING either reads nothing at all, and its connection is ended with all it holds.
 */
import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../clock.ts";
import type { Full } from "./backlog.ts";

/** Time limit for the PING's answer: as long as an answer may make no progress at a busy time. */
const pingMs = 5_000;

/** Sessions with a PING that has not been answered. */
const asked = new WeakSet<Http2Session>();

/** Returns the stream as a `Full`, whose cutting also checks whether the client reads at all. */
export function cuttable(clock: Clock, stream: ServerHttp2Stream): Full {
  return {
    get destroyed() {
      return stream.destroyed;
    },
    destroy(error) {
      const { session } = stream;
      stream.destroy(error);
      if (session !== undefined) endWhenDeaf(clock, session);
    },
  };
}

function endWhenDeaf(clock: Clock, session: Http2Session): void {
  if (session.destroyed || asked.has(session)) return;
  asked.add(session);
  const deaf = clock.after("http.stall", pingMs, () => session.destroy());
  // An error means that the maximum number of PINGs is under way: none of them has been answered.
  session.ping((error) => {
    if (error !== null) return;
    deaf.cancel();
    asked.delete(session);
  });
}
