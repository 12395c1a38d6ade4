/**
 * The two ways into a relay. At the public door the upstream is asked who somebody is and what they
 * may. At the inner door stand the relay's own serving workers: they asked already, so the caller is
 * who their headers say - or the relay itself, when they say nothing - and may read what is mirrored.
 * What passes through the inner door to the upstream is decided there, as always.
 */
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Access, Question } from "./access.ts";
import { actingUser, wishedUser } from "./impersonation.ts";

/** Undefined: the relay itself. */
export type Caller = UserInfo | undefined;

export interface Door {
  /** Throws 401, 403 (may not act for somebody) and 503. */
  caller(request: PlainRequest): Promise<Caller>;
  /** Throws 403 and 503. */
  authorize(caller: Caller, question: Question): Promise<void>;
  authorizePath(caller: Caller, path: string): Promise<void>;
  /** Whether all of it would be a yes again from memory alone; see Access. */
  recall(request: PlainRequest, caller: Caller, questions: readonly Question[]): () => boolean;
}

/** The relay itself may do what its credential upstream may: nothing is refused to it here. */
export function publicDoor(access: Access): Door {
  return {
    caller: async (request) => actingUser(access, await access.identify(request), request),
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

/** Only for a listener that nobody but the relay's own processes can reach. */
export const innerDoor: Door = {
  caller: (request) => Promise.resolve(wishedUser(request)),
  authorize: () => Promise.resolve(),
  authorizePath: () => Promise.resolve(),
  recall: () => () => false,
};
