/**
 * The server's handler for loops of this process. Their calls begin in turns of the event loop, as the requests of
 * sockets do, and the loop that has used least time goes first.
 *
 * A call that waits for nothing resolves within the turn it was made in, so a loop that makes a thousand
 * calls one after the other would hold up all other requests. A number of calls per turn is no useful bound:
 * a call takes 100 us, or 2 ms while its code is cold or its answer is being made.
 */
import type { PlainHandler } from "#platform/http.ts";

export interface CallTurns {
  /** What a call of this loop waits for; undefined: it begins at once. */
  enter(loop: object, caller: string): Promise<void> | undefined;
}

export function pacedHandler(turns: CallTurns, handler: PlainHandler): PlainHandler {
  const loop = {};
  return async (request) => {
    const { peer } = request;
    const turn = turns.enter(loop, peer.kind === "direct" ? peer.user.name : "");
    if (turn !== undefined) await turn;
    return handler(request);
  };
}
