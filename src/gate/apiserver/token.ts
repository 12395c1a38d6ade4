/** POST serviceaccounts/NAME/token: admission, then the injected minter checks and signs. */
import type { AnyObject } from "#api/object.ts";
import { failure } from "#api/status.ts";
import { formatTime } from "#api/values/time.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { admissionRequest } from "./admission-request.ts";
import { answerMade, plainForm } from "./answer.ts";
import { readTyped } from "./body.ts";
import type { ApiDeps } from "./deps.ts";
import { trackSent } from "./managed.ts";
import type { StoredKind } from "./stored-kind.ts";
import { writeOptions, writeQuery } from "./write-options.ts";

const tokenKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };
const tokenType = { goType: "authentication.TokenRequest", printer: undefined };

export async function mintToken(
  deps: ApiDeps,
  context: RequestContext,
  accounts: StoredKind,
): Promise<PlainResponse> {
  const form = plainForm(context, "metadata");
  if (deps.tokenMinter === undefined) {
    throw failure(503, "ServiceUnavailable", "this server issues no service account tokens");
  }
  const query = writeQuery("CreateOptions", context.query);
  const sent = await readTyped(context, tokenKind, deps.bodies, query.fieldValidation);
  const { namespace, name } = context.place;
  const request = admissionRequest(context, accounts, {
    operation: "CREATE",
    subresource: "token",
    name,
    object: unanswered(trackSent(context, tokenKind, query, sent)),
    oldObject: undefined,
    dryRun: query.dryRun,
    attempt: {},
    options: writeOptions("CreateOptions", query),
  });
  const mutated = await deps.admission.mutate(request);
  const { object: account } = await accounts.store.get(namespace, name, {});
  await deps.admission.validate({ ...request, object: ofAccount(context, account, mutated) });
  const minted = deps.tokenMinter(namespace, name, mutated, (text) => context.warnings.add(text));
  return answerMade(context, tokenType, form, 201, minted);
}

/** Replaces the client's status by an empty one, as Go writes it. */
function unanswered(request: AnyObject): AnyObject {
  return { ...request, status: { token: "", expirationTimestamp: null } };
}

/** The request for validating admission: it has the name and uid of its account. */
function ofAccount(
  { nowMs }: RequestContext,
  { metadata: { name = "", uid = "" } = {} }: AnyObject,
  request: AnyObject,
): AnyObject {
  const own = request.metadata?.name ?? "";
  const metadata = {
    ...request.metadata,
    name: own === "" ? name : own,
    uid,
    creationTimestamp: formatTime(nowMs),
  };
  return unanswered({ ...request, metadata });
}
