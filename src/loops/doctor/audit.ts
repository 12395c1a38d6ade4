/**
 * An audit log, line by line, as counts of calls by caller.
 *
 * Bounds: `callersMax` callers are counted, calls of further ones only as a number; a line longer than
 * `lineMax`, or that is no event, is dropped and counted; names are cut at `nameMax`. The pods or addresses that call are
 * counted up to `clientsMax` per caller and `clientsAllMax` in total.
 */
import type { Audit, Call, CallKind } from "./evidence.ts";

const callersMax = 20_000;
const lineMax = 2 ** 20;
const nameMax = 200;
const clientsMax = 2_000;
const clientsAllMax = 100_000;
const podName = "authentication.kubernetes.io/pod-name";
const writes = new Set(["create", "update", "patch", "delete", "deletecollection"]);

type Fields = Readonly<Record<string, unknown>>;

interface Counted {
  readonly call: Omit<Call, "count" | "clients">;
  count: number;
  readonly clients: Set<string>;
}

export class AuditCounter {
  readonly #calls = new Map<string, Counted>();
  #clients = 0;
  #dropped = 0;
  #uncounted = 0;
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;

  add(line: string): void {
    if (line.trim() === "") return;
    const event = line.length > lineMax ? undefined : parse(line);
    if (event === undefined) this.#dropped++;
    else this.#addEvent(event);
  }

  result(): Audit {
    const calls = [...this.#calls.values()].map(({ call, count, clients }) => ({
      ...call,
      count,
      ...(clients.size === 0 ? {} : { clients: clients.size }),
    }));
    const seconds = (this.#lastMs - this.#firstMs) / 1_000;
    return {
      calls: calls.toSorted((a, b) => b.count - a.count),
      seconds: Number.isFinite(seconds) ? Math.max(1, seconds) : 1,
      dropped: this.#dropped,
      uncounted: this.#uncounted,
    };
  }

  #addEvent(event: Fields): void {
    const kind = kindOfCall(event);
    if (kind === undefined) return;
    const ms = Date.parse(textOf(event["requestReceivedTimestamp"]));
    if (ms < this.#firstMs) this.#firstMs = ms;
    if (ms > this.#lastMs) this.#lastMs = ms;
    const { resource, apiGroup, apiVersion } = fieldsOf(event["objectRef"]);
    const call = {
      kind,
      userAgent: textOf(event["userAgent"]),
      // For a request through a relay, this is the impersonated user.
      user: textOf(userOf(event)["username"]),
      group: textOf(apiGroup),
      resource: textOf(resource),
    };
    const key = JSON.stringify(call);
    let known = this.#calls.get(key);
    if (known === undefined && this.#calls.size >= callersMax) return void this.#uncounted++;
    known ??= { call: { ...call, version: textOf(apiVersion) }, count: 0, clients: new Set() };
    this.#calls.set(key, known);
    known.count++;
    if (kind !== "write") this.#addClient(known.clients, clientOf(event));
  }

  #addClient(clients: Set<string>, client: string): void {
    if (client === "" || clients.has(client)) return;
    if (clients.size >= clientsMax || this.#clients >= clientsAllMax) return;
    clients.add(client);
    this.#clients++;
  }
}

/** Classifies an event so that each request counts once: a watch when it starts, any other request when it is answered. */
function kindOfCall(event: Fields): CallKind | undefined {
  const verb = textOf(event["verb"]);
  const stage = textOf(event["stage"]);
  if (verb === "watch") return stage === "ResponseStarted" ? "watch" : undefined;
  if (stage !== "ResponseComplete") return undefined;
  if (writes.has(verb)) return "write";
  if (verb !== "list") return undefined;
  const uri = textOf(event["requestURI"]);
  const isBounded = /[?&]limit=[1-9]/.test(uri) || /[?&]resourceVersion=0(&|$)/.test(uri);
  return isBounded ? "list" : "list-whole";
}

function userOf(event: Fields): Fields {
  return fieldsOf(event["impersonatedUser"] ?? event["user"]);
}

/** Returns the pod to which the token is bound, or else the source address of the request. */
function clientOf(event: Fields): string {
  const pods = fieldsOf(userOf(event)["extra"])[podName];
  const pod = Array.isArray(pods) ? textOf(pods[0]) : "";
  if (pod !== "") return pod;
  const addresses = event["sourceIPs"];
  return Array.isArray(addresses) ? textOf(addresses[0]) : "";
}

function parse(line: string): Fields | undefined {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === "object" && event !== null ? fieldsOf(event) : undefined;
  } catch {
    return undefined;
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, nameMax) : "";
}
