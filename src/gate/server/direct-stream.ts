/** Streams of callers in this process. */
import type { ObjectEventSink } from "#platform/http.ts";

/** Opens a stream and closes it when the server ends it, because there is no transport to do so. */
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
