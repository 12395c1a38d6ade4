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

/** User of a request. Undefined: the relay itself. */
export type Caller = UserInfo | undefined;

/** Facts about a caller, filled in step by step; they remain available when the request is refused. */
export interface CallerNote {
  user?: UserInfo;
  /** User that impersonates `user`. */
  impersonator?: UserInfo;
  /** Namespace of the request. Absent: the request has no namespace. */
  namespace?: string;
}

export interface EntryPoint {
  /** Whether the callers are the relay's own serving workers, which charge their clients themselves. */
  readonly isOwn: boolean;
  /** Throws 401, 403 (the user may not impersonate), 429 (too many unknown credentials) and 503. */
  caller(request: PlainRequest, note?: CallerNote): Promise<Caller>;
  /** Throws 401 for a caller without credentials that the upstream would not accept at `path`. */
  admit(caller: Caller, path: string): Promise<void>;
  /** Throws 401 like `admit`, 403 when the upstream denies the request, and 503. */
  authorize(caller: Caller, question: Question): Promise<void>;
  authorizePath(caller: Caller, path: string): Promise<void>;
  /** Returns a check whether identification and authorization would succeed again from cached answers alone; see Access. */
  recall(request: PlainRequest, caller: Caller, questions: readonly Question[]): () => boolean;
}

/** Entry point for clients. The relay itself is not checked here: its credential limits it at the upstream. */
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
  // A caller without credentials may not impersonate another user.
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

/** Entry point without checks, for a listener that only the relay's own processes can reach. */
export const innerEntryPoint: EntryPoint = {
  isOwn: true,
  caller: async (request) => requestedUser(request),
  admit: () => Promise.resolve(),
  authorize: () => Promise.resolve(),
  authorizePath: () => Promise.resolve(),
  recall: () => () => false,
};
