/**
 * Sends the cases of a suite to one server and records the answers, blanked.
 *
 * Cases run a few at a time, each in its own namespace with its default ServiceAccount; the steps of
 * one case run in order. Of a suite whose webhooks are asked, one case runs at a time, and the reviews are
 * what is recorded.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Blanks } from "./blank.ts";
import {
  isCollect,
  type AnyStep,
  type Case,
  type Recorded,
  type Step,
  type Suite,
} from "./exchange.ts";
import { openReviews, type Reviews } from "./reviews.ts";
import { type Answer, begin, parsed, send, type Target } from "./send.ts";

/** Cases under way at once: streams wait a second, requests hardly. */
const casesAtOnce = 8;
/** A stream that says nothing for this long will say nothing more. */
const silenceMs = 3_000;

export async function runSuite(
  target: Target,
  suite: Suite,
): Promise<Record<string, readonly Recorded[]>> {
  const reviews = suite.reviewed === true ? await openReviews(target) : undefined;
  try {
    return await runCases(target, suite, reviews);
  } finally {
    await reviews?.close();
  }
}

async function runCases(
  target: Target,
  suite: Suite,
  reviews: Reviews | undefined,
): Promise<Record<string, readonly Recorded[]>> {
  const waiting = [...suite.cases.entries()];
  const results = new Map<string, readonly Recorded[]>();
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, one] = next;
      results.set(one.name, await runCase(target, `${suite.name}-${index}`, one, reviews));
    }
  };
  await Promise.all(Array.from({ length: reviews === undefined ? casesAtOnce : 1 }, worker));
  return Object.fromEntries(suite.cases.map(({ name }) => [name, results.get(name) ?? []]));
}

async function runCase(
  target: Target,
  namespace: string,
  one: Case,
  reviews: Reviews | undefined,
): Promise<readonly Recorded[]> {
  await prepare(target, namespace);
  const run = new Run(target, namespace, reviews);
  reviews?.take();
  const recorded: Recorded[] = [];
  for (const step of one.steps) {
    try {
      if (reviews !== undefined) await sleep(target.settleMs ?? 0);
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

  readonly #reviews: Reviews | undefined;

  constructor(target: Target, namespace: string, reviews: Reviews | undefined) {
    this.#target = target;
    this.#reviews = reviews;
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
    const { status } = answer;
    const recorded: Recorded =
      this.#reviews === undefined
        ? { step, status, headers: headersOf(answer, this.#blanks), body: this.#body(answer) }
        : { step, status, reviews: this.#reviewed(this.#reviews) };
    return JSON.parse(JSON.stringify(recorded).replaceAll(this.#namespace, "<ns>")) as Recorded;
  }

  /** Blanked twice: a review says a generated name before the object that it is learned from. */
  #reviewed(reviews: Reviews): unknown {
    const taken = reviews.take();
    this.#blanks.value(taken);
    return this.#blanks.value(taken);
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

function headersOf({ headers, text }: Answer, blanks: Blanks): NonNullable<Recorded["headers"]> {
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

const title = (step: AnyStep): string =>
  isCollect(step) ? `collect ${step.collect}` : `${step.method} ${step.path}`;

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
