/**
 * Builds the events of audit.k8s.io/v1 of one request: collects its facts in the chain, and writes the text of each
 * stage.
 *
 * Text   fields in upstream's order. The part that does not change after the request was received is made once.
 * Bounds a text from the client (path and query, user, names) is cut at `textMax`, or at `strangerTextMax` for a
 *        request without credentials; a user agent is cut at upstream's `userAgentMax`, a list at `itemsMax`. A cut
 *        text ends in upstream's "...TRUNCATED". Annotations: `annotationsMax`, `annotationBytesMax`; bodies.ts bounds
 *        the bodies.
 */
import { anonymousName } from "#auth/groups.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Status } from "#api/status.ts";
import type { RequestInfo } from "../request-info.ts";
import type { AuditConfig, Level, Stage } from "./policy.ts";

/** Facts that are known when a request has been received. */
export interface AuditFacts {
  readonly auditId: string;
  /** Wall-clock time in ms. */
  readonly receivedMs: number;
  /** Path and query as sent. */
  readonly requestUri: string;
  readonly info: RequestInfo;
  /** Undefined: authentication failed. */
  readonly user: UserInfo | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
}

interface Impersonated {
  readonly user: UserInfo;
  /** Verb of the constrained mode that allowed it; "" for plain impersonation. */
  readonly constraint: string;
}

/** Names in the object of a write. */
interface ObjectNames {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** The fields of a Status in responseStatus. */
interface ShownStatus {
  readonly status?: Status["status"] | undefined;
  readonly message?: string | undefined;
  readonly reason?: Status["reason"] | undefined;
  readonly details?: Status["details"] | undefined;
  readonly code?: number | undefined;
}

/** An event on its way to the sinks. Its texts are fixed now, because the request's state changes later. */
export interface StagedEvent {
  readonly stage: Stage;
  readonly level: Level;
  /** JSON of the event, without braces and without kind and apiVersion. */
  json(): string;
  /** The same JSON without the bodies of request and response, marked as truncated. */
  truncatedJson(): string;
  /** Text in upstream's format "legacy". */
  legacy(): string;
  /** Author of the request: the user's name, or the address of an unauthenticated caller. */
  readonly writer: { readonly name: string; readonly isStranger: boolean };
}

const textMax = 8 * 1024;
const strangerTextMax = 1_024;
const userAgentMax = 1_024;
const itemsMax = 128;
const cutMark = "...TRUNCATED";
const patchPrefix = "patch.webhook.admission.k8s.io/";
/** Maximum number of annotations per request, so that a webhook cannot fill the audit log. */
const annotationsMax = 256;
const annotationBytesMax = 256 * 1024;
/** Keys of the usual annotations, sorted. */
const plainAnnotations = ["authorization.k8s.io/decision", "authorization.k8s.io/reason"];
/** JSON of users, made once per user object, because those are kept by connection and token. */
const userTexts = new WeakMap<UserInfo, string>();
export const truncatedAnnotation = "audit.k8s.io/truncated";

export class AuditEvent {
  readonly facts: AuditFacts;
  readonly config: AuditConfig;
  readonly #annotations = new Map<string, string>();
  #annotationBytes = 0;
  impersonated: Impersonated | undefined;
  names: ObjectNames | undefined;
  status: ShownStatus | undefined;
  /** Bodies as JSON. */
  requestObject: string | undefined;
  responseObject: string | undefined;
  readonly #textMax: number;
  #asked: string | undefined;
  #source: string | undefined;

  constructor(facts: AuditFacts, config: AuditConfig) {
    this.facts = facts;
    this.config = config;
    this.#textMax = isStranger(facts.user) ? strangerTextMax : textMax;
  }

  /** Adds an annotation; the first value of a key stays, as upstream. Patches need a level that records bodies. */
  annotate(key: string, value: string): void {
    if (this.config.level === "Metadata" && key.startsWith(patchPrefix)) return;
    const bytes = key.length + value.length + this.#annotationBytes;
    const isFull = this.#annotations.size >= annotationsMax || bytes > annotationBytesMax;
    if (isFull || this.#annotations.has(key)) return;
    this.#annotations.set(key, value);
    this.#annotationBytes = bytes;
  }

  at(stage: Stage, stageMs: number): StagedEvent {
    const { user, sourceIps } = this.facts;
    const isUnknown = isStranger(user);
    const name = (isUnknown ? sourceIps.at(-1) : user?.name) ?? "";
    return {
      stage,
      level: this.config.level,
      writer: { name, isStranger: isUnknown },
      json: () => this.#text(stage, stageMs, false),
      truncatedJson: () => this.#text(stage, stageMs, true),
      legacy: () => this.#legacyText(stage),
    };
  }

  #text(stage: Stage, stageMs: number, isTruncated: boolean): string {
    const { auditId, receivedMs } = this.facts;
    const at = microTime(receivedMs);
    this.#asked ??= this.#askedText();
    this.#source ??= this.#sourceText();
    return (
      `"level":"${this.config.level}","auditID":${JSON.stringify(auditId)},"stage":"${stage}"` +
      `${this.#asked}${this.#impersonatedText()}${this.#source}${this.#objectText()}` +
      `${this.#statusText()}${isTruncated ? "" : this.#bodiesText()}` +
      `,"requestReceivedTimestamp":"${at}"` +
      `,"stageTimestamp":"${stageMs === receivedMs ? at : microTime(stageMs)}"${this.#annotationsText(isTruncated)}`
    );
  }

  #askedText(): string {
    const { requestUri, info, user } = this.facts;
    const uri = JSON.stringify(this.#cut(requestUri));
    const verb = JSON.stringify(this.#cut(info.verb));
    return `,"requestURI":${uri},"verb":${verb},"user":${this.#userText(user)}`;
  }

  #sourceText(): string {
    const { sourceIps, userAgent } = this.facts;
    const ips = sourceIps.length === 0 ? "" : `,"sourceIPs":${JSON.stringify(sourceIps)}`;
    if (userAgent === "") return ips;
    return `${ips},"userAgent":${JSON.stringify(cut(userAgent, userAgentMax))}`;
  }

  #impersonatedText(): string {
    if (this.impersonated === undefined) return "";
    const { user, constraint } = this.impersonated;
    const by = { impersonationConstraint: this.#cut(constraint) };
    const how = constraint === "" ? "" : `,"authenticationMetadata":${JSON.stringify(by)}`;
    return `,"impersonatedUser":${this.#userText(user)}${how}`;
  }

  #userText(user: UserInfo | undefined): string {
    if (user === undefined) return "{}";
    if (this.#textMax !== textMax) return this.#madeUserText(user);
    const known = userTexts.get(user);
    if (known !== undefined) return known;
    const text = this.#madeUserText(user);
    userTexts.set(user, text);
    return text;
  }

  #madeUserText({ name, uid, groups, extra }: UserInfo): string {
    const shown = {
      username: this.#cut(name),
      ...(uid === undefined || uid === "" ? {} : { uid: this.#cut(uid) }),
      ...(groups.length === 0 ? {} : { groups: this.#cutList(groups) }),
      ...(extra === undefined || Object.keys(extra).length === 0
        ? {}
        : { extra: this.#extra(extra) }),
    };
    return JSON.stringify(shown);
  }

  #extra(extra: NonNullable<UserInfo["extra"]>): Readonly<Record<string, readonly string[]>> {
    const pairs = Object.entries(extra).slice(0, itemsMax);
    return Object.fromEntries(
      pairs.map(([key, values]) => [this.#cut(key), this.#cutList(values)]),
    );
  }

  #objectText(): string {
    const { info } = this.facts;
    if (!info.isResourceRequest) return "";
    const { names } = this;
    return (
      `,"objectRef":{"resource":${this.#quoted(info.resource)}` +
      this.#field("namespace", info.namespace || names?.namespace) +
      this.#field("name", info.name || names?.name) +
      this.#field("uid", names?.uid) +
      this.#field("apiGroup", info.group) +
      this.#field("apiVersion", info.version) +
      this.#field("resourceVersion", names?.resourceVersion) +
      `${this.#field("subresource", info.subresource)}}`
    );
  }

  #field(name: string, value: string | undefined): string {
    return value === undefined || value === "" ? "" : `,"${name}":${this.#quoted(value)}`;
  }

  #quoted(text: string): string {
    return JSON.stringify(this.#cut(text));
  }

  #statusText(): string {
    if (this.status === undefined) return "";
    const { status, message, reason, details, code } = this.status;
    if (status === undefined && message === undefined)
      return `,"responseStatus":{"metadata":{},"code":${code ?? 0}}`;
    const bounded = message === undefined ? undefined : cut(message, textMax);
    return `,"responseStatus":${JSON.stringify({ metadata: {}, status, message: bounded, reason, details, code })}`;
  }

  #bodiesText(): string {
    const { requestObject: request, responseObject: response } = this;
    const sent = request === undefined ? "" : `,"requestObject":${request}`;
    return response === undefined ? sent : `${sent},"responseObject":${response}`;
  }

  #annotationsText(isTruncated: boolean): string {
    const annotations = this.#annotations;
    if (annotations.size === 0 && !isTruncated) return "";
    if (annotations.size <= plainAnnotations.length && !isTruncated) {
      const plain = plainAnnotations.every((key) => annotations.has(key));
      if (plain) return this.#plainAnnotationsText();
    }
    const all = isTruncated
      ? [...annotations, [truncatedAnnotation, "true"] as const]
      : annotations;
    const sorted = [...all].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return `,"annotations":${JSON.stringify(Object.fromEntries(sorted))}`;
  }

  /** Text of the annotations of most requests, which have only these. */
  #plainAnnotationsText(): string {
    const fields = plainAnnotations.map(
      (key) => `"${key}":${JSON.stringify(this.#annotations.get(key))}`,
    );
    return `,"annotations":{${fields.join(",")}}`;
  }

  #legacyText(stage: Stage): string {
    const { auditId, receivedMs, requestUri, info, user, sourceIps, userAgent } = this.facts;
    const quoted = (text: string): string => JSON.stringify(this.#cut(text));
    const list = (texts: readonly string[]): string => texts.map(quoted).join(",");
    const groups = user === undefined || user.groups.length === 0 ? "<none>" : list(user.groups);
    const as = this.impersonated?.user;
    const namespace = info.namespace || (this.names?.namespace ?? "") || "<none>";
    return (
      `${new Date(receivedMs).toISOString().replace(/\.?0*Z$/, "Z")} AUDIT: id=${quoted(auditId)} stage=${quoted(stage)}` +
      ` ip=${quoted(sourceIps[0] ?? "<unknown>")} method=${quoted(info.verb)}` +
      ` user=${quoted(user?.name ?? "<none>")} groups=${quoted(groups)}` +
      ` as=${quoted(as?.name ?? "<self>")} asgroups=${quoted(as === undefined ? "<lookup>" : list(as.groups))}` +
      ` user-agent=${JSON.stringify(cut(userAgent, userAgentMax))} namespace=${quoted(namespace)}` +
      ` uri=${quoted(requestUri)} response="${this.status?.code ?? "<deferred>"}"`
    );
  }

  #cut(text: string): string {
    return cut(text, this.#textMax);
  }

  #cutList(texts: readonly string[]): readonly string[] {
    const kept = texts.slice(0, itemsMax).map((text) => this.#cut(text));
    return texts.length > itemsMax ? [...kept, cutMark] : kept;
  }
}

/** Whether the caller is not authenticated. */
function isStranger(user: UserInfo | undefined): boolean {
  return user === undefined || user.name === anonymousName;
}

/** Truncates a text; well-formed text stays well-formed. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}${cutMark}`;
}

/** Formats like Go's MicroTime: six digits, of which the clock fills three. The text of a second is made once. */
function microTime(ms: number): string {
  const whole = Math.floor(ms / 1000);
  if (whole !== second.at) {
    second.at = whole;
    second.text = new Date(whole * 1000).toISOString().slice(0, -5);
  }
  const part = Math.floor(ms) - whole * 1000;
  return `${second.text}.${part < 10 ? "00" : part < 100 ? "0" : ""}${part}000Z`;
}

const second = { at: 0, text: "1970-01-01T00:00:00" };
