/** Streams of callers in this process. */
import type { ObjectEventSink } from "#platform/http.ts";

/** A direct stream has no transport whose close would tell that the server ended it. */
export function openUntilEnd(
  open: (sink: ObjectEventSink) => () => void,
  sink: ObjectEventSink,
): () => void {
  const end = { came: false, close: () => {} };
  const close = open({
    deliver: (events) => sink.deliver(events),
    end: () => {
      end.came = true;
      sink.end();
      end.close();
    },
  });
  end.close = close;
  if (end.came) close();
  return close;
}
