/**
 * What a server asks admission webhooks: an HTTPS server that keeps every AdmissionReview, and the
 * configurations that put it before all that the server takes.
 *
 *   /mutating     every resource and operation; adds a label where an annotation asks for it
 *   /validating   the same rules; recorded as "as /mutating" when it was asked the same
 *   /equivalent   validating, rules in one version only of kinds that are served in several
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage } from "node:http";
import type { AnyObject, JsonValue } from "#api/object.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { openWebhookServer, type WebhookServer } from "#extension/testing/webhook-server.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { get, post, remove, type Step } from "./exchange.ts";
import { parsed, send, type Target } from "./send.ts";

export interface Reviews {
  /** @returns what was asked since the last call. */
  take(): readonly unknown[];
  close(): Promise<void>;
}

interface Asked {
  readonly hook: string;
  readonly http: object;
  readonly review: Review;
}

interface Review extends AnyObject {
  readonly request: {
    readonly uid: string;
    readonly userInfo: { readonly username: string };
    readonly object: AnyObject | null;
    readonly oldObject: AnyObject | null;
  };
}

const registration = "/apis/admissionregistration.k8s.io/v1";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const paths = ["/mutating", "/validating", "/equivalent"];
const attemptsMax = 200;

export async function openReviews(target: Target): Promise<Reviews> {
  const hooks = await openWebhookServer(new NodeClock().nowMs());
  let asked: Asked[] = [];
  for (const path of paths)
    hooks.raw(path, (request, response, body) => {
      const review = parsed(body.toString()) as Review;
      // Its own loops write when they please.
      if (review.request.userInfo.username !== "system:apiserver")
        asked.push({ hook: path, http: httpOf(request), review });
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answerTo(path, review)));
    });
  for (const step of prepared(hooks)) await must(target, step);
  await untilServed(target);
  await untilAsked(target, () => new Set(asked.map(({ hook }) => hook)).size === paths.length);
  return {
    take() {
      const taken = inOrder(asked);
      asked = [];
      return taken.map((one, at) => recorded(one, taken[at - 1]));
    },
    async close() {
      await send(target, remove(`${registration}/mutatingwebhookconfigurations/reviews`));
      await send(target, remove(`${registration}/validatingwebhookconfigurations/reviews`));
      await send(target, remove(`${definitions}/widgets.reviews.example.com`));
      await hooks.close();
    },
  };
}

/**
 * Validating webhooks are asked at once: their questions come as they come. So are those about the objects
 * of one deletion of many, which are put one object after the other.
 */
function inOrder(asked: readonly Asked[]): readonly Asked[] {
  const runs: Asked[][] = [];
  let before = "";
  const nameOf = ({ review }: Asked): string => review.request.oldObject?.metadata?.name ?? "";
  const byObject = asked.toSorted((a, b) =>
    nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0,
  );
  for (const one of byObject) {
    const isAlone = one.hook === "/mutating" || before === "/mutating";
    if (isAlone) runs.push([one]);
    else runs.at(-1)?.push(one);
    before = one.hook;
  }
  const byName = (a: Asked, b: Asked): number => (a.hook < b.hook ? 1 : -1);
  return runs.flatMap((run) => run.sort(byName));
}

function httpOf({ method, url, headers }: IncomingMessage): object {
  const { accept, "content-type": type, "user-agent": agent } = headers;
  return { method, url, accept, type, agent };
}

function recorded({ hook, http, review }: Asked, before: Asked | undefined): object {
  const isSame = before !== undefined && jsonEqual(bodyOf(review), bodyOf(before.review));
  if (isSame) return { hook, http, review: `as ${before.hook}` };
  return { hook, http, review: { ...review, request: { ...review.request, uid: "<review>" } } };
}

function bodyOf({ request, ...review }: Review): JsonValue {
  return { ...review, request: { ...request, uid: "" } } as unknown as JsonValue; // parsed JSON
}

function answerTo(path: string, { apiVersion, kind, request }: Review): object {
  const { uid, object } = request;
  const labelled = object?.metadata?.annotations?.["label-me"] !== undefined;
  const patch = [{ op: "add", path: "/metadata/labels", value: { labelled: "yes" } }];
  const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
  const patched = path === "/mutating" && labelled;
  const more = patched ? { patchType: "JSONPatch", patch: encoded } : {};
  return { apiVersion, kind, response: { uid, allowed: true, ...more } };
}

function prepared(hooks: WebhookServer): readonly Step[] {
  const every = { apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"] };
  const hook = (name: string, more: object): object => ({
    name: `${name}.reviews.example.com`,
    clientConfig: { url: hooks.url(`/${name}`), caBundle: hooks.caBundle },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    rules: [every],
    ...more,
  });
  const equivalent = hook("equivalent", { rules: inOneVersion, timeoutSeconds: 30 });
  return [
    post(definitions, definition),
    configuration("Mutating", [hook("mutating", { timeoutSeconds: 7 })]),
    configuration("Validating", [hook("validating", {}), equivalent]),
  ];
}

const inOneVersion = [
  ["autoscaling", "v1", "horizontalpodautoscalers/*"],
  ["reviews.example.com", "v1", "widgets/*"],
  ["autoscaling", "v1", "horizontalpodautoscalers"],
  ["reviews.example.com", "v1", "widgets"],
  ["", "v1", "events"],
].map(([group, version, resource]) => ({
  apiGroups: [group],
  apiVersions: [version],
  resources: [resource],
  operations: ["*"],
}));

function configuration(type: string, webhooks: readonly object[]): Step {
  return post(`${registration}/${type.toLowerCase()}webhookconfigurations`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${type}WebhookConfiguration`,
    metadata: { name: "reviews" },
    webhooks,
  });
}

const widgetVersion = {
  served: true,
  subresources: {
    status: {},
    scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
  },
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            replicas: { type: "integer", default: 1 },
            size: { type: "string" },
          },
        },
        status: { type: "object", properties: { replicas: { type: "integer" } } },
      },
    },
  },
};

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.reviews.example.com" },
  spec: {
    group: "reviews.example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget" },
    versions: [
      { name: "v1", storage: true, ...widgetVersion },
      { name: "v2", storage: false, ...widgetVersion },
    ],
  },
};

async function must(target: Target, step: Step): Promise<void> {
  const { status, text } = await send(target, step);
  if (status !== 201) throw new Error(`${step.path}: ${status} ${text}`);
}

/** A stock server needs some turns of its loops until it serves a definition. */
async function untilServed(target: Target): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const steps = ["v1", "v2"].map((version) =>
      send(target, get(`/apis/reviews.example.com/${version}/widgets`)),
    );
    const answers = await Promise.all(steps);
    if (answers.every(({ status }) => status === 200)) return;
    await sleep(50);
  }
  throw new Error("the custom resource is not served");
}

/** Likewise until configurations hold. */
async function untilAsked(target: Target, isAsked: () => boolean): Promise<void> {
  const body = {
    apiVersion: "reviews.example.com/v1",
    kind: "Widget",
    metadata: { name: "probe" },
  };
  const step = post("/apis/reviews.example.com/v1/namespaces/default/widgets?dryRun=All", body);
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    await send(target, step);
    if (isAsked()) return;
    await sleep(50);
  }
  throw new Error("the webhooks are not asked");
}
