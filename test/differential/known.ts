/** Differences from stock that are meant, each with its reason; docs/contract.md tells them to users. */
import type { Difference } from "./compare.ts";

export interface Known {
  /** Found in `Difference.at`, and where given in what the servers said. */
  readonly at: RegExp;
  readonly stock?: RegExp;
  readonly ours?: RegExp;
  readonly reason: string;
}

export const known: readonly Known[] = [
  {
    at: / > (?:body (?!.*(?:[tT]imestamp|eventTime)$)|reviews \d+ review )/,
    stock: /^null$/,
    ours: /^$/,
    reason: "fields Go cannot leave out and writes as null are left out",
  },
  {
    at: /(?:FlowSchema|APIService|flowschemas|apiservices).*(?:managedFields|status conditions|resourceVersion)/,
    reason: "conditions a controller inside the stock server writes are not written",
  },
  {
    at: /namespaces on their way out > 18 |privileged/,
    reason: "privileged pods are allowed; stock needs --allow-privileged",
  },
  {
    at: / > body message$/,
    ours: /: (?:No Object name found|no relationship found between node)/,
    reason: "the node authorizer is on and says why; the recorded server had RBAC only",
  },
  {
    at: /^server: who may > 2[78] .* > body message/,
    reason: "the node authorizer is on and says why; the recorded server had RBAC only",
  },
  {
    at: / > body (?:serverAddressByClientCIDRs 0 serverAddress|spec ports 0 targetPort)$/,
    reason: "each server tells its own address",
  },
  {
    at: /(?:Validating|Mutating)WebhookConfiguration > /,
    reason:
      "webhook configurations: findings come in another order; the YAML answers are not looked into",
  },
  {
    at: /> headers warning/,
    ours: /is stored,/,
    reason: "kinds that wait for a controller or a server of their own carry a warning",
  },
  {
    at: /^(?:customresources|versions): /,
    stock: /404 page not found|text\/plain|^"nosniff"/,
    reason:
      "what is not served is answered with a Status, as everywhere; stock has a text for groups without a built-in kind",
  },
  {
    at: /^versions: .* headers form$/,
    stock: /^"compact, newline"/,
    reason: "the same: a Status has the form that was asked for, a text has none",
  },
  {
    at: /^(?:customresources: scale|reviews: (?:subresources|custom)) .* managedFields \d time$/,
    stock: /^$/,
    reason: "an entry that the scale endpoint shortened keeps its time; stock loses it",
  },
  {
    at: /^reviews: pods .* DELETE .* reviews [2-5]$/,
    ours: /^$/,
    reason:
      "a deletion asks its webhooks once; stock asks them the same again for each of its steps",
  },
  {
    at: /^customresources: patches > 18 .* message$/,
    reason: "the refusal of a configuration names its namespace, as of built-in kinds",
  },
  {
    at: /^customresources: paths > 9 POST /,
    reason: "a creation that names an object in its path is refused: its body could name another",
  },
  {
    at: /^health: .*verbose.* > body$/,
    stock: /poststarthook/,
    reason: "start hooks that have no like of them here; health.test.ts compares the rest",
  },
  {
    at: /^fieldvalidation: finalizers of a custom object > 5 .* causes 1$/,
    reason: "a bad finalizer is told twice on an update, as of most built-in kinds",
  },
  {
    at: /^patchedparts: scale .* managedFields \d time$/,
    stock: /^$/,
    reason: "as above; and who put or patched the replicas has the time of doing so",
  },
  {
    at: /^patchedparts: scale .* 27 PATCH /,
    reason: "an integer beyond its type is refused, not cut",
  },
  {
    at: /^applies: conflicts in order > 11 .* causes/,
    reason: "stock looks at the metadata twice on an update, and says so twice",
  },
  {
    at: /^devices: .* managedFields .* (?:f:pool \.|f:conditions)$/,
    reason:
      "a struct and a list that Go writes though they are empty count as there, or as set, in stock",
  },
  {
    at: /^devices: .* message$/,
    stock: /\\"Spec\\"|\\"MatchExpressions\\"|\\"IntValue\\"/,
    reason: "the message shows the object as it was sent, not upstream's internal one",
  },
  { at: /GET \/version > body /, reason: "each server tells what it is" },
  {
    at: /^server: bootstrap > .* > body (?:items \d+ )?metadata (?:managedFields|uid|resourceVersion)/,
    reason: "bootstrap objects are written below the layer that tracks managers",
  },
  {
    at: /^server: bootstrap > .* clusterroles.* items \d+ rules/,
    stock: /^null/,
    reason: "the aggregated roles are filled by a controller in stock, at once here",
  },
  {
    at: /^server: escalation > 6 /,
    reason: "the role granted is empty in stock without its controllers, filled here",
  },
  {
    at: / > body$/,
    stock: /message: 'only the following media types/,
    reason: "the same YAML value; stock's writer folds and quotes long texts",
  },
  {
    at: /^integers: a fraction .* message$/,
    stock: /\\"Deployment|\\"Scale/,
    ours: /cannot unmarshal number/,
    reason: "the message shows the whole object, whose fields stand in another order",
  },
  { at: / > headers form/, stock: /^"indented"/, reason: "a 406 is compact JSON here" },
  {
    at: / \/openapi\/v3 > body paths .* serverRelativeURL$/,
    reason: "its hash covers descriptions, which are words of our own",
  },
  {
    at: / \/openapi\/v3 > headers present$/,
    reason: "the index has an ETag here, so that clients need not read it again",
  },
  {
    at: /storageVersionHash/,
    reason: "the storage version of a few kinds differs, which the hash shows",
  },
];

export function isKnown({ at, stock, ours }: Difference): boolean {
  const says = (pattern: RegExp | undefined, value: unknown): boolean =>
    pattern === undefined || pattern.test(JSON.stringify(value) ?? "");
  return known.some((row) => row.at.test(at) && says(row.stock, stock) && says(row.ours, ours));
}
