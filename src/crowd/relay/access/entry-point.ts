/**
 * The two entry points of a relay. At the public one the upstream authenticates and authorises each
 * request. The inner one serves the relay's own serving workers, which have reviewed the request already:
 * the caller is the user in their headers - or the relay itself, without such headers - and may read all
 * mirrored resources. Requests that pass through to the upstream are authorised there, as always.
 */
import { failure } from "#api/status.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Access } from "./access.ts";
import { isNobody } from "./anonymous.ts";
import { actingUser, isImpersonating, requestedUser } from "./impersonation.ts";
import type { Question } from "./question.ts";

/** Undefined: the relay itself. */
export type Caller = UserInfo | undefined;

/** What is known of a caller so far, also when the request is refused on the way. */
export interface CallerNote {
  user?: UserInfo;
  /** Who acts as `user`. */
  impersonator?: UserInfo;
  /** Of what was asked for, as far as it is in one. */
  namespace?: string;
}

export interface EntryPoint {
  /** Of the relay's own serving workers: they charge their clients themselves. */
  readonly isOwn: boolean;
  /** Throws 401, 403 (may not act for somebody), 429 (too many unknown credentials) and 503. */
  caller(request: PlainRequest, note?: CallerNote): Promise<Caller>;
  /** Throws 401 for a caller without credentials whom the upstream would not take at `path`. */
  admit(caller: Caller, path: string): Promise<void>;
  /** Throws 401 as `admit`, 403 and 503. */
  authorize(caller: Caller, question: Question): Promise<void>;
  authorizePath(caller: Caller, path: string): Promise<void>;
  /** Whether all of it would be a yes again from memory alone; see Access. */
  recall(request: PlainRequest, caller: Caller, questions: readonly Question[]): () => boolean;
}

/** The relay itself may do what its credential upstream may: nothing is refused to it here. */
export function publicEntryPoint(access: Access): EntryPoint {
  return {
    isOwn: false,
    caller: (request, note = {}) => publicCaller(access, request, note),
    admit: async (caller, path) => {
      if (caller !== undefined && isNobody(caller)) await access.admitNobody(caller, path);
    },
    authorize: async (caller, question) => {
      if (caller !== undefined) await access.authorize(caller, question);
    },
    authorizePath: async (caller, path) => {
      if (caller !== undefined) await access.authorizePath(caller, path);
    },
    recall: (request, caller, questions) =>
      caller === undefined ? () => false : access.recall(request, caller, questions),
  };
}

async function publicCaller(
  access: Access,
  request: PlainRequest,
  note: CallerNote,
): Promise<Caller> {
  const user = await access.identify(request);
  // Who does not say who they are acts for nobody else.
  if (isNobody(user) && isImpersonating(request))
    throw failure(401, "Unauthorized", "Unauthorized");
  const { peer } = request;
  if (peer.kind === "socket" && !isNobody(user)) peer.connection?.belongsTo(user.name);
  note.user = user;
  const acting = await actingUser(access, user, request);
  if (acting !== user) note.impersonator = user;
  note.user = acting;
  if (peer.kind === "socket" && peer.connection !== undefined && !isNobody(acting))
    peer.connection.caller = acting.name;
  return acting;
}

/** Only for a listener that no other process than the relay's own can reach. */
export const innerEntryPoint: EntryPoint = {
  isOwn: true,
  caller: async (request) => requestedUser(request),
  admit: () => Promise.resolve(),
  authorize: () => Promise.resolve(),
  authorizePath: () => Promise.resolve(),
  recall: () => () => false,
};
