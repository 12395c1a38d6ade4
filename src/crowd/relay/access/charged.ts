/**
 * What a relay holds for its clients, charged to them (#server/charges.ts): what a request takes until it is
 * answered, an answer until it has left, a stream until it closes. The relay's own serving workers charge
 * their clients themselves.
 */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
// uncharged: for the relay's own workers, see above.
import { type Holding, type Ledger, uncharged } from "#platform/ledger.ts";
import {
  type Charged,
  chargedAnswer,
  closeUnopened,
  heldStream,
  type OpenAnswer,
  openHolding,
  openStream,
  refused,
} from "#server/charges.ts";
import type { CallerNote, EntryPoint } from "./entry-point.ts";

/** Opens the holding of a request; the caller closes it when the request is answered. */
export function openRequest(
  ledger: Ledger,
  request: PlainRequest,
  door: EntryPoint,
  note: CallerNote,
): Holding {
  return door.isOwn ? uncharged : openHolding(ledger, chargedTo(request, note));
}

/** @throws ApiError 429 or 413: the answer has been closed and is not sent. */
export function chargedResponse(
  ledger: Ledger,
  request: PlainRequest,
  door: EntryPoint,
  note: CallerNote,
  response: PlainResponse,
): PlainResponse {
  if (door.isOwn || request.peer.kind === "direct") return response;
  if (response.kind === "stream" || response.kind === "tunnel")
    return chargedStream(ledger, chargedTo(request, note), response);
  if (response.kind !== "bytes") return response;
  const holding = openHolding(ledger, chargedTo(request, note));
  const answer = chargedAnswer(ledger, holding, response);
  if (answer === undefined) throw refused(holding);
  return answer;
}

function chargedStream(ledger: Ledger, charged: Charged, response: OpenAnswer): PlainResponse {
  try {
    return heldStream(response, openStream(ledger, charged));
  } catch (error) {
    closeUnopened(response);
    throw error;
  }
}

function chargedTo(request: PlainRequest, { user, namespace = "" }: CallerNote): Charged {
  return { peer: request.peer, user, namespace, queryBytes: request.query.length };
}
