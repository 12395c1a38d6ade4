/**
 * A scheduler with a plugin of its own. Nodes say what they cost in the label `example.com/price` (cents an hour): Pods
 * with `schedulerName: thrifty` go to the cheapest node that fits, and to none that costs more than a euro.
 * Run: `KUBECONFIG=... node scheduler-plugin.ts`. SIGTERM ends it.
 */
import { connect } from "pilothouse/client";
import { runScheduler } from "pilothouse/scheduler";
import type { Plugin } from "pilothouse/scheduler/plugin";
import { reasonId } from "pilothouse/scheduler/reasons";

const most = 100;
const name = "Price";
/** `false`: taking Pods off the node would not make it cheaper, so there is nothing to preempt. */
const tooDear = reasonId(name, `node(s) cost more than ${most} cents an hour`, false);

interface Labelled {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
}

function priceOf({ metadata }: Labelled): number {
  return Number(metadata?.labels?.["example.com/price"] ?? 0);
}

function price(): Plugin {
  return {
    name,
    nodeFilter: (_pod, node) => (priceOf(node) > most ? tooDear : -1),
    // The largest raw value is the worst; upstream's plugins weigh 1 to 3.
    nodeScore: { weight: 10, isReversed: true, raw: (_pod, node) => priceOf(node) },
    // Pods that were refused are tried again when a node changes so that they fit.
    hint: (event) => (event.kind === "node" ? "queue-if-fits" : "skip"),
  };
}

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const api = await connect({ name: "thrifty-scheduler" });
await runScheduler(api, { schedulerName: "thrifty", plugins: [price] }, stop.signal);
api.close();
