/** What the verbs need besides the request: the rooms below, by their doors. */
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
import type { Catalog } from "./kind.ts";
import type { Kubelets } from "./kubelet/deps.ts";

/** Issues a service-account token: the TokenRequest with its status filled in, or ApiError. */
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
  /** For TokenReview; absent: no token is known. */
  readonly tokens?: TokenAuthenticator;
  readonly tokenMinter?: TokenMinter;
  /** The way to nodes, pods and Services; absent: 501. */
  readonly kubelets?: Kubelets;
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: RequestMetrics;
  /** What all watches share but their counts, which are per kind. */
  readonly streams: Omit<WatchStreamDeps, "sent">;
  /** Of open watches. */
  readonly selectors: SelectorPool;
  readonly limits: ApiLimits;
  readonly bodies: Bodies;
}

export interface ApiLimits {
  /** Bytes of one request body. */
  readonly bodyBytesMax: number;
  /** A watch without timeoutSeconds lives a random time between this and twice this. */
  readonly watchMsMin: number;
  /** Objects of a deletecollection under deletion at once. */
  readonly deletesInFlightMax: number;
  /** Objects per page when the server lists for itself. */
  readonly pageItems: number;
}

/** Upstream's numbers. */
export const apiLimits: ApiLimits = {
  bodyBytesMax: 3 * 1024 * 1024,
  watchMsMin: 1_800_000,
  deletesInFlightMax: 64,
  pageItems: 500,
};
