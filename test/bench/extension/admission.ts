/** What policies that do not match, and a webhook that does, add to the create of a ConfigMap. */
import { Agent, request } from "node:https";
import { openWebhookServer, type WebhookServer } from "#extension/testing/webhook-server.ts";
import type { Figures } from "./figures.ts";
import { after, costOf, inBatches, latencyMs, medianOf, send, type Target } from "./target.ts";
import { configMap, configMaps } from "./things.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const policies = `${registration}/validatingadmissionpolicies`;
const bindings = `${registration}/validatingadmissionpolicybindings`;
const hooks = `${registration}/validatingwebhookconfigurations`;
const policyCount = 50;
const rounds = 5;
/** A stock server compiles policies and reads configurations some time after they were written. */
const settleMs = 2_500;

export async function policiesThatDoNotMatch(
  target: Target,
  count: number,
  figures: Figures,
): Promise<void> {
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["*"] };
  const validations = [{ expression: "object.data.all(key, object.data[key].size() < 10)" }];
  const spec = { matchConstraints: { resourceRules: [rule] }, validations };
  const nameOf = (n: number): string => `policy-${n}`;
  const on = (): Promise<void> =>
    inBatches(policyCount, async (n) => {
      const metadata = { name: nameOf(n) };
      await send(target, "POST", policies, { metadata, spec });
      const bound = { policyName: nameOf(n), validationActions: ["Deny"] };
      await send(target, "POST", bindings, { metadata, spec: bound });
    });
  const off = (): Promise<void> =>
    inBatches(policyCount, async (n) => {
      await send(target, "DELETE", `${bindings}/${nameOf(n)}`);
      await send(target, "DELETE", `${policies}/${nameOf(n)}`);
    });
  const added = await alternate({ on, off }, (name) =>
    costOf(target, count, (n) => send(target, "POST", configMaps, configMap(`p-${name}-${n}`))),
  );
  figures.add("50 policies that do not match, added to a create (<= 10), CPU us", added * 1000);
}

export async function matchingWebhook(
  target: Target,
  count: number,
  figures: Figures,
): Promise<void> {
  await webhookOver("HTTP/2", target, count, figures);
  await webhookOver("HTTP/1.1", target, count, figures);
}

/** Validating, and in this process: its own work is in the round trip, not in the CPU of the server. */
async function webhookOver(
  protocol: "HTTP/2" | "HTTP/1.1",
  target: Target,
  count: number,
  figures: Figures,
): Promise<void> {
  const server = await openWebhookServer(Date.now(), { http2: protocol === "HTTP/2" });
  try {
    server.on("/allow", () => ({ allowed: true }));
    const on = (): Promise<void> => send(target, "POST", hooks, configurationFor(server));
    const off = (): Promise<void> => send(target, "DELETE", `${hooks}/bench`);
    const create = (name: string) => (n: number) =>
      send(target, "POST", configMaps, configMap(`h-${server.port}-${name}-${n}`));
    const cost = await alternate({ on, off }, (name) => costOf(target, count, create(name)));
    const waited = await alternate({ on, off }, (name) =>
      latencyMs(count / 4, create(`one-${name}`)),
    );
    if (server.asked.length < rounds * count) throw new Error("the webhook was not asked");
    figures.add(`a matching webhook over ${protocol}, added to a create (<= 0.2), CPU ms`, cost);
    figures.add(`a matching webhook over ${protocol}, added to a create's time, ms`, waited);
    if (protocol === "HTTP/1.1")
      figures.add("a round trip to that webhook alone, ms", await roundTripMs(server, count / 4));
  } finally {
    await server.close();
  }
}

function configurationFor(server: WebhookServer): object {
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const webhook = {
    name: "bench.example.com",
    clientConfig: { url: server.url("/allow"), caBundle: server.caBundle },
    rules: [{ ...rule, operations: ["CREATE"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  return { metadata: { name: "bench" }, webhooks: [webhook] };
}

/** On a connection that stays open, with a question as long as the server's. */
async function roundTripMs(server: WebhookServer, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const kind = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
  const body = JSON.stringify({ ...kind, request: { uid: "x", object: configMap("x") } });
  const ask = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const call = request(server.url("/allow"), { method: "POST", agent }, (response) => {
        response.resume();
        response.on("end", () => resolve());
      });
      call.on("error", reject);
      call.end(body);
    });
  const each = await latencyMs(count, ask);
  agent.destroy();
  return each;
}

/** @returns what `measure` says more when it is on: the median of the rounds' differences. */
async function alternate(
  change: { readonly on: () => Promise<void>; readonly off: () => Promise<void> },
  measure: (name: string) => Promise<number>,
): Promise<number> {
  const added: number[] = [];
  // The first round compiles the code and opens connections; it is not counted.
  for (let round = 0; round <= rounds; round++) {
    const without = await measure(`${round}-without`);
    await change.on();
    await after(settleMs);
    const withIt = await measure(`${round}-with`);
    await change.off();
    await after(settleMs);
    if (round > 0) added.push(withIt - without);
  }
  return medianOf(added);
}
