/**
 * Sends the cases of a suite to one server and records the answers, blanked.
 *
 * Cases run a few at a time, each in its own namespace with its default ServiceAccount; the steps of
 * one case run in order. Raw node:https on purpose: neither side's client library is in between.
 */
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage } from "node:http";
import { Blanks } from "./blank.ts";
import {
  isCollect,
  type AnyStep,
  type Case,
  type Recorded,
  type Step,
  type Suite,
} from "./exchange.ts";

export interface Target {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  readonly agent: https.Agent;
  /** Sent with every request: how this server knows the caller as an administrator. */
  readonly headers: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headersDistinct"];
  readonly text: string;
}

/** Cases under way at once: streams wait a second, requests hardly. */
const casesAtOnce = 8;
/** A stream that says nothing for this long will say nothing more. */
const silenceMs = 3_000;
/** No answer takes longer; a stream that is not ended by then is cut and says so. */
const requestMs = 8_000;

export async function runSuite(
  target: Target,
  suite: Suite,
): Promise<Record<string, readonly Recorded[]>> {
  const waiting = [...suite.cases.entries()];
  const results = new Map<string, readonly Recorded[]>();
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, one] = next;
      results.set(one.name, await runCase(target, `${suite.name}-${index}`, one));
    }
  };
  await Promise.all(Array.from({ length: casesAtOnce }, worker));
  return Object.fromEntries(suite.cases.map(({ name }) => [name, results.get(name) ?? []]));
}

async function runCase(target: Target, namespace: string, one: Case): Promise<readonly Recorded[]> {
  await prepare(target, namespace);
  const run = new Run(target, namespace);
  const recorded: Recorded[] = [];
  for (const step of one.steps) {
    try {
      recorded.push(await run.step(step));
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      throw new Error(`${one.name}: ${title(step)}: ${cause.message}`, { cause });
    }
  }
  return recorded;
}

async function prepare(target: Target, namespace: string): Promise<void> {
  await send(target, {
    method: "POST",
    path: "/api/v1/namespaces",
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  });
  await send(target, {
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
  });
}

class Run {
  readonly #target: Target;
  readonly #blanks = new Blanks();
  readonly #streams = new Map<string, Stream>();
  readonly #saved: Map<string, string>;
  readonly #namespace: string;

  constructor(target: Target, namespace: string) {
    this.#target = target;
    this.#namespace = namespace;
    this.#saved = new Map([["ns", namespace]]);
  }

  async step(step: AnyStep): Promise<Recorded> {
    if (isCollect(step)) {
      const stream = this.#streams.get(step.collect);
      if (stream === undefined) throw new Error("no such stream");
      const text = await stream.collect(step.events);
      return this.#record(title(step), { ...stream.answer, text });
    }
    if (step.waitMs !== undefined) await sleep(step.waitMs);
    const filled = this.#fill(step);
    if (step.open !== undefined) {
      const stream = await openStream(this.#target, filled);
      this.#streams.set(step.open, stream);
      return this.#record(title(step), { ...stream.answer, text: "" });
    }
    const answer = await send(this.#target, filled);
    this.#save(step, answer);
    return this.#record(title(step), answer);
  }

  #fill(step: Step): Step {
    const { body } = step;
    const path = this.#text(step.path);
    if (body === undefined) return { ...step, path };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return { ...step, path, body: this.#text(text) };
  }

  #text(text: string): string {
    return text.replace(/\{(\w+)\}/g, (all, name: string) => this.#saved.get(name) ?? all);
  }

  #save({ save = {} }: Step, answer: Answer): void {
    for (const [name, path] of Object.entries(save)) {
      let value: unknown = parsed(answer.text);
      for (const key of path.split("."))
        value = (value as Record<string, unknown> | undefined)?.[key];
      this.#saved.set(name, encodeURIComponent(String(value)));
    }
  }

  #record(step: string, answer: Answer): Recorded {
    const body = this.#body(answer);
    return JSON.parse(
      JSON.stringify({
        step,
        status: answer.status,
        headers: headersOf(answer, this.#blanks),
        body,
      }).replaceAll(this.#namespace, "<ns>"),
    ) as Recorded;
  }

  #body({ text, headers }: Answer): unknown {
    const type = headers["content-type"]?.[0] ?? "";
    if (type.includes("protobuf")) return `<${text.slice(0, 4)}>`;
    const lines = text.split("\n").filter((line) => line.startsWith('{"type":'));
    if (lines.length > 0) return lines.map((line) => this.#blanks.value(parsed(line)));
    const value = parsed(text);
    return value === undefined ? this.#blanks.text(text) : this.#blanks.value(value);
  }
}

const comparedHeaders = [
  "content-type",
  "warning",
  "cache-control",
  "retry-after",
  "location",
  "allow",
  "vary",
  "x-content-type-options",
  "www-authenticate",
  "content-encoding",
];
const presentHeaders = [
  "audit-id",
  "etag",
  "x-kubernetes-pf-flowschema-uid",
  "x-kubernetes-pf-prioritylevel-uid",
];

function headersOf({ headers, text }: Answer, blanks: Blanks): Recorded["headers"] {
  const kept: Record<string, string | readonly string[]> = {};
  for (const name of comparedHeaders) {
    const values = headers[name];
    if (values !== undefined) kept[name] = values.map((value) => blanks.text(value)).join(" | ");
  }
  const present = presentHeaders.filter((name) => headers[name] !== undefined);
  kept["present"] = present.join(" ");
  kept["form"] = formOf(text);
  return kept;
}

function formOf(text: string): string {
  if (text === "") return "empty";
  const layout = /^[{[]\n/.test(text) ? "indented" : "compact";
  return text.endsWith("\n") ? `${layout}, newline` : layout;
}

// The compiler's library does not know the third argument yet; the runtime does.
const json = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
};

/** Numbers that JavaScript prints otherwise than they stand there are kept as texts: every digit is compared. */
function parsed(text: string): unknown {
  try {
    return json.parse(text, (_key, value, { source }) =>
      typeof value === "number" && source !== undefined && String(value) !== source
        ? `<number ${source}>`
        : value,
    );
  } catch {
    return undefined;
  }
}

const title = (step: AnyStep): string =>
  isCollect(step) ? `collect ${step.collect}` : `${step.method} ${step.path}`;

async function send(target: Target, step: Step): Promise<Answer> {
  const response = await begin(target, step, AbortSignal.timeout(requestMs));
  response.setEncoding("utf8");
  let text = "";
  try {
    for await (const chunk of response) text += chunk as string;
  } catch {
    text += "(stays open)";
  }
  return { status: response.statusCode ?? 0, headers: response.headersDistinct, text };
}

function begin(target: Target, step: Step, signal: AbortSignal): Promise<IncomingMessage> {
  const { body, type = "application/json" } = step;
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const headers: Record<string, string> = {
    "user-agent": "differential/1",
    ...target.headers,
    ...(text === undefined || type === "" ? {} : { "content-type": type }),
    ...(text === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) }),
    ...step.headers,
  };
  return new Promise((resolve, reject) => {
    const request = https.request(
      target.url + step.path,
      { method: step.method, headers, agent: target.agent, signal },
      resolve,
    );
    request.on("error", reject);
    request.end(text);
  });
}

interface Stream {
  readonly answer: Answer;
  collect(events: number): Promise<string>;
}

async function openStream(target: Target, step: Step): Promise<Stream> {
  const abort = new AbortController();
  const response = await begin(target, step, abort.signal);
  let text = "";
  let heard = (): void => {};
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    text += chunk;
    heard();
  });
  response.on("error", () => heard());
  response.on("end", () => heard());
  const told = (): readonly string[] => text.split("\n").filter((line) => !isTimed(line));
  const count = (): number => told().length - 1;
  return {
    answer: { status: response.statusCode ?? 0, headers: response.headersDistinct, text: "" },
    async collect(events) {
      while (count() < events && !response.complete) {
        const before = text.length;
        await Promise.race([new Promise<void>((resolve) => (heard = resolve)), quiet()]);
        if (text.length === before) break;
      }
      abort.abort();
      return told().join("\n");
    },
  };
}

/** A bookmark by the clock, which either server sends when its minute is over. */
function isTimed(line: string): boolean {
  return line.startsWith('{"type":"BOOKMARK"') && !line.includes("k8s.io/initial-events-end");
}

function quiet(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, silenceMs));
}
