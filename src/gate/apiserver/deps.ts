/** Dependencies of the verbs besides the request: the interfaces of the rooms below. */
import type { Admission } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import type { Authorizer, TokenAuthenticator } from "#auth/auth.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { SelectorPool } from "#watch/selector-pool.ts";
import type { WatchStreamDeps } from "#server/watch-stream.ts";
import type { RequestMetrics } from "#server/metrics.ts";
import type { Bodies } from "./body-text.ts";
import type { IssuedCertificates } from "./issued-certificates.ts";
import type { Catalog } from "./kind.ts";
import type { Kubelets } from "./kubelet/deps.ts";

/** Issues a service-account token. Returns the TokenRequest with its status filled in. @throws ApiError. */
export type TokenMinter = (
  namespace: string,
  name: string,
  request: AnyObject,
  /** Adds a warning to the answer. */
  warn: (text: string) => void,
) => AnyObject;

export interface ApiDeps {
  readonly catalog: Catalog;
  readonly admission: Admission;
  readonly authorizer: Authorizer;
  /** Authenticates the tokens of TokenReview. Absent: no token is valid. */
  readonly tokens?: TokenAuthenticator;
  readonly tokenMinter?: TokenMinter;
  /** Connections to nodes, pods and Services. Absent: requests that need them get 501. */
  readonly kubelets?: Kubelets;
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: RequestMetrics;
  readonly issuedCertificates: IssuedCertificates;
  /** Dependencies that all watches share. Counts are per kind and so not included. */
  readonly streams: Omit<WatchStreamDeps, "sent">;
  /** Selectors of open watches. */
  readonly selectors: SelectorPool;
  readonly limits: ApiLimits;
  readonly bodies: Bodies;
}

export interface ApiLimits {
  /** Maximum bytes of one request body. */
  readonly bodyBytesMax: number;
  /** Minimum lifetime of a watch without timeoutSeconds; the lifetime is random up to twice this. */
  readonly watchMsMin: number;
  /** Maximum number of concurrent deletions of one deletecollection. */
  readonly deletesInFlightMax: number;
  /** Number of objects per page when the server lists for itself. */
  readonly pageItems: number;
}

/** The limits of upstream. */
export const apiLimits: ApiLimits = {
  bodyBytesMax: 3 * 1024 * 1024,
  watchMsMin: 1_800_000,
  deletesInFlightMax: 64,
  pageItems: 500,
};
