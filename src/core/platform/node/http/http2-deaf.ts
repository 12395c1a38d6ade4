/**
 * HTTP/2 streams whose clients take nothing: the stream is cut, other streams of its connection go on. A client
 * that does not answer a PING either reads nothing at all, and its connection is ended with all it holds.
 */
import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../clock.ts";
import type { Full } from "./backlog.ts";

/** As long as an answer may stand still at a busy time. */
const pingMs = 5_000;

/** Those that have been asked. */
const asked = new WeakSet<Http2Session>();

/** The stream as what frames and answers wait for. */
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
  // When as many as there may be are on their way, none of them has been answered.
  session.ping((error) => {
    if (error !== null) return;
    deaf.cancel();
    asked.delete(session);
  });
}
