/**
 * POST serviceaccounts/NAME/token: checks a TokenRequest, binds it to the object that it names, and issues a token.
 *
 * In     the decoded, defaulted TokenRequest (expirationSeconds 3600 when absent is set here, too).
 * Out    the same object with metadata, audiences and status filled in; or a thrown ApiError with upstream's text.
 *        Admission (including NodeRestriction) must run before this call.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { badRequest, conflict, invalid, notFound } from "#api/status.ts";
import type { FieldError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { BoundReference } from "./service-account-claims.ts";
import type { ServiceAccountTokens } from "./service-account-token.ts";

interface TokenRequestSpec {
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  readonly boundObjectRef?: {
    readonly kind?: string;
    readonly apiVersion?: string;
    readonly name?: string;
    readonly uid?: string;
  };
}

interface TokenRequestDeps {
  readonly clock: Clock;
  readonly lookup: Lister;
  readonly tokens: ServiceAccountTokens;
  /** Limits of lifetimes. Absent: a token ends when its request says. */
  readonly lifetimes?: TokenLifetimes;
  /** Adds a warning to the answer. */
  readonly warn: (text: string) => void;
}

/** Values of --service-account-max-token-expiration and --service-account-extend-token-expiration. */
export interface TokenLifetimes {
  /** Maximum lifetime. A longer one is shortened, with a warning. 0: no lifetime is shortened. */
  readonly maxSeconds: number;
  /** Whether tokens of pods for this server are valid for a year. Their use after the requested lifetime is noted. */
  readonly extend: boolean;
}

const group = "authentication.k8s.io";
const kind = { group, kind: "TokenRequest" };
const secondsDefault = 3600;
/** Upstream's bounds: ten minutes, and the largest number of seconds in 32 bits. */
const secondsMin = 600;
const secondsMax = 2 ** 32;
/** Lifetime that service account admission requests for each pod. A client that requests it can be warned. */
const extendedSeconds = 3607;
const yearSeconds = 365 * 24 * 3600;

export function serveTokenRequest(
  deps: TokenRequestDeps,
  namespace: string,
  name: string,
  request: AnyObject,
): AnyObject {
  const account = deps.lookup.get({ group: "", resource: "serviceaccounts" }, namespace, name);
  if (account === undefined) throw notFound({ group: "", resource: "serviceaccounts" }, name);
  const uid = account.metadata?.uid ?? "";
  checkNames(request, namespace, name, uid);
  const spec = (request["spec"] ?? {}) as TokenRequestSpec;
  const askedSeconds = spec.expirationSeconds ?? secondsDefault;
  checkSeconds(askedSeconds);
  const given = spec.audiences ?? [];
  const audiences = given.length > 0 ? given : deps.tokens.apiAudiences;
  const bound = bind(deps, namespace, name, spec.boundObjectRef);
  const expirationSeconds = shortened(deps, askedSeconds);
  const { token, issuedAtMs } = deps.tokens.issue({
    namespace,
    account: { name, uid },
    audiences,
    ...lifetimeOf(deps, expirationSeconds, bound, audiences),
    ...bound,
  });
  return {
    apiVersion: `${group}/v1`,
    kind: "TokenRequest",
    metadata: {
      ...request.metadata,
      name,
      namespace,
      uid,
      creationTimestamp: iso(deps.clock.nowMs()),
    },
    spec: { ...spec, audiences, expirationSeconds },
    // The answer contains the requested expiration, so that the client refreshes the token by then.
    status: { token, expirationTimestamp: iso(issuedAtMs + expirationSeconds * 1_000) },
  };
}

function shortened({ lifetimes, warn }: TokenRequestDeps, asked: number): number {
  const { maxSeconds = 0 } = lifetimes ?? {};
  if (maxSeconds === 0 || asked <= maxSeconds) return asked;
  warn(`requested expiration of ${asked} seconds shortened to ${maxSeconds} seconds`);
  return maxSeconds;
}

/** Extends the same lifetimes as upstream: of tokens for pods and this server alone, with the lifetime that admission requests. */
function lifetimeOf(
  { lifetimes, tokens }: TokenRequestDeps,
  asked: number,
  { pod }: Binding,
  audiences: readonly string[],
): { readonly expirationSeconds: number; readonly warnAfterSeconds?: number } {
  const isOwn = audiences.every((audience) => tokens.apiAudiences.includes(audience));
  const extend =
    lifetimes?.extend === true && pod !== undefined && asked === extendedSeconds && isOwn;
  if (!extend) return { expirationSeconds: asked };
  return { expirationSeconds: yearSeconds, warnAfterSeconds: asked };
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function checkNames(request: AnyObject, namespace: string, name: string, uid: string): void {
  const given = request.metadata ?? {};
  const mismatch = (field: "name" | "namespace", value: string): FieldError => ({
    reason: "FieldValueInvalid",
    field: `metadata.${field}`,
    message: `Invalid value: ${JSON.stringify(value)}: must match the service account ${field} if specified`,
  });
  if (given.name !== undefined && given.name !== "" && given.name !== name) {
    throw invalid(kind, name, [mismatch("name", given.name)]);
  }
  if (given.namespace !== undefined && given.namespace !== "" && given.namespace !== namespace) {
    throw invalid(kind, name, [mismatch("namespace", given.namespace)]);
  }
  if (given.uid !== undefined && given.uid !== "" && given.uid !== uid) {
    throw conflict(
      { group, resource: "TokenRequest" },
      name,
      `the UID in the token request (${given.uid}) does not match the UID of the service account (${uid})`,
    );
  }
}

function checkSeconds(seconds: number): void {
  const fault =
    seconds < secondsMin
      ? "may not specify a duration less than 10 minutes"
      : seconds > secondsMax
        ? "may not specify a duration larger than 2^32 seconds"
        : undefined;
  if (fault === undefined) return;
  const field = "spec.expirationSeconds";
  const message = `Invalid value: ${seconds}: ${fault}`;
  throw invalid(kind, "", [{ reason: "FieldValueInvalid", field, message }]);
}

interface Binding {
  readonly pod?: BoundReference;
  readonly node?: BoundReference;
  readonly secret?: BoundReference;
}

function bind(
  deps: TokenRequestDeps,
  namespace: string,
  account: string,
  ref: TokenRequestSpec["boundObjectRef"],
): Binding {
  if (ref === undefined) return {};
  const name = ref.name ?? "";
  const boundKind = ref.apiVersion === "v1" ? ref.kind : undefined;
  if (boundKind === "Pod") return bindPod(deps, namespace, account, name, ref.uid);
  if (boundKind === "Secret") {
    const secret = find(deps, "secrets", namespace, name);
    return { secret: sameUid("Secret", secret, ref.uid) };
  }
  if (boundKind === "Node")
    return { node: sameUid("Node", find(deps, "nodes", "", name), ref.uid) };
  const [apiGroup, version] = splitApiVersion(ref.apiVersion ?? "");
  throw badRequest(
    `cannot bind token to object of type ${apiGroup}/${version}, Kind=${ref.kind ?? ""}`,
  );
}

function splitApiVersion(apiVersion: string): readonly [string, string] {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

/** Binds a token to a pod. It also names the pod's node, as information. */
function bindPod(
  deps: TokenRequestDeps,
  namespace: string,
  account: string,
  name: string,
  uid: string | undefined,
): Binding {
  const pod = find(deps, "pods", namespace, name);
  const spec = (pod["spec"] ?? {}) as {
    readonly serviceAccountName?: string;
    readonly nodeName?: string;
  };
  if (spec.serviceAccountName !== account) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
    );
  }
  const bound = { pod: sameUid("Pod", pod, uid) };
  const nodeName = spec.nodeName ?? "";
  if (nodeName === "") return bound;
  const node = deps.lookup.get({ group: "", resource: "nodes" }, "", nodeName);
  return { ...bound, node: { name: nodeName, uid: node?.metadata?.uid ?? "" } };
}

function find(
  deps: TokenRequestDeps,
  resource: string,
  namespace: string,
  name: string,
): AnyObject {
  const object = deps.lookup.get({ group: "", resource }, namespace, name);
  if (object === undefined) throw notFound({ group: "", resource }, name);
  return object;
}

function sameUid(what: string, object: AnyObject, wanted: string | undefined): BoundReference {
  const { name = "", uid = "" } = object.metadata ?? {};
  if (wanted === undefined || wanted === "" || wanted === uid) return { name, uid };
  throw conflict(
    { group: "", resource: what },
    name,
    `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`,
  );
}
