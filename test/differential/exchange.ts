/**
 * What a differential case is: named sequences of raw HTTP requests, each in a namespace of its own,
 * and what is kept of each answer. Cases are data; run.ts sends them.
 */

export interface Step {
  readonly method: string;
  /** With query; `{name}` stands for what an earlier step saved, `{ns}` for the case's namespace. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is. `{name}` is replaced in both. */
  readonly body?: object | string;
  /** Each character of the body is a byte. */
  readonly isBinary?: true;
  /** Content-Type of the body; "" sends none. */
  readonly type?: string;
  /** Dotted paths into the answer, kept under a name for later steps of the case. */
  readonly save?: Readonly<Record<string, string>>;
  /** The step is sent this much later: times have whole seconds, and some answers depend on them. */
  readonly waitMs?: number;
  /** Opens a stream under this name, which a `collect` step reads and closes. */
  readonly open?: string;
}

/** Waits until a stream opened before has this many events (or stays silent), then closes it. */
export interface CollectStep {
  readonly collect: string;
  readonly events: number;
}

export type AnyStep = Step | CollectStep;

export interface Case {
  readonly name: string;
  readonly steps: readonly AnyStep[];
}

/** Cases of one file, and the name of its golden answers. */
export interface Suite {
  readonly name: string;
  readonly cases: readonly Case[];
  /** Of a server of its own; absent: the one of all other suites. */
  readonly admission?: AdmissionFlags;
  /** Webhooks are asked about all that its cases do; recorded is what they are asked. */
  readonly reviewed?: true;
}

/** Which admission plugins run. */
export interface AdmissionFlags {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
  /** An AdmissionConfiguration. */
  readonly configuration: object;
}

/** What is compared of an answer. */
export interface Recorded {
  /** Method and path as written in the case: tells a person which step this is. */
  readonly step: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
  /** Instead of headers and body: what webhooks were asked (reviews.ts). */
  readonly reviews?: unknown;
}

export const isCollect = (step: AnyStep): step is CollectStep => "collect" in step;

type Rest = Omit<Step, "method" | "path" | "body">;

export const get = (path: string, rest: Rest = {}): Step => ({ method: "GET", path, ...rest });
export const post = (path: string, body: object | string, rest: Rest = {}): Step => ({
  method: "POST",
  path,
  body,
  ...rest,
});
export const put = (path: string, body: object | string, rest: Rest = {}): Step => ({
  method: "PUT",
  path,
  body,
  ...rest,
});
export const remove = (path: string, body?: object | string, rest: Rest = {}): Step => ({
  method: "DELETE",
  path,
  ...(body === undefined ? {} : { body }),
  ...rest,
});

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export const patch = (
  kind: keyof typeof patchTypes,
  path: string,
  body: object | string,
  rest: Rest = {},
): Step => ({ method: "PATCH", path, body, type: patchTypes[kind], ...rest });

export const collect = (name: string, events: number): CollectStep => ({ collect: name, events });
