/** The query and path parameters of API operations, each defined once. */
import type { ParameterModel } from "./model.ts";

type Type = ParameterModel["type"];

function query(name: string, type: Type, description: string): ParameterModel {
  return { name, in: "query", type, description };
}

function path(name: string, description: string): ParameterModel {
  return { name, in: "path", type: "string", description };
}

export const pretty = query("pretty", "string", "If 'true', the answer is indented.");

export const namespaceParameter = path(
  "namespace",
  "object name and auth scope, such as for teams and projects",
);

export function nameParameter(kind: string): ParameterModel {
  return path("name", `name of the ${kind}`);
}

const dryRun = query(
  "dryRun",
  "string",
  "All: every stage of the request runs, but nothing is stored. Other values are refused.",
);

const fieldManager = query(
  "fieldManager",
  "string",
  "Name of the actor whose changes these are, at most 128 printable characters; by default the " +
    "user agent up to its first slash. Required for apply patches.",
);

const fieldValidation = query(
  "fieldValidation",
  "string",
  "What happens with unknown and duplicate fields: Ignore drops them silently, Warn (the default) " +
    "drops them and says so in Warning headers, Strict refuses the request.",
);

const force = query(
  "force",
  "boolean",
  "Apply patches only: take over fields that other managers own instead of reporting a conflict.",
);

export const writeParameters: readonly ParameterModel[] = [dryRun, fieldManager, fieldValidation];

export const patchParameters: readonly ParameterModel[] = [...writeParameters, force];

export const deleteParameters: readonly ParameterModel[] = [
  dryRun,
  query(
    "gracePeriodSeconds",
    "integer",
    "Seconds before the object is removed, zero for at once; by default what the object says.",
  ),
  query(
    "orphanDependents",
    "boolean",
    "Deprecated: use propagationPolicy. Whether dependents are left alone.",
  ),
  query(
    "propagationPolicy",
    "string",
    "What becomes of dependents: Orphan leaves them, Background deletes them afterwards, " +
      "Foreground deletes them first. Not together with orphanDependents.",
  ),
];

const selectors: readonly ParameterModel[] = [
  query(
    "fieldSelector",
    "string",
    "Only objects whose fields match this selector; by default all objects.",
  ),
  query(
    "labelSelector",
    "string",
    "Only objects whose labels match this selector; by default all objects.",
  ),
];

const paging: readonly ParameterModel[] = [
  query(
    "continue",
    "string",
    "The continue token of the page before this one, with the same parameters otherwise. A token " +
      "that is too old is answered with 410 and a token to go on with, inconsistently.",
  ),
  query("limit", "integer", "At most so many objects; more are behind the continue token."),
];

export const resourceVersion = query(
  "resourceVersion",
  "string",
  "How new the answer must be: absent the newest, 0 any, otherwise at least this version.",
);

const versions: readonly ParameterModel[] = [
  resourceVersion,
  query("resourceVersionMatch", "string", "NotOlderThan or Exact: how resourceVersion is meant."),
];

const sendInitialEvents = query(
  "sendInitialEvents",
  "boolean",
  "Watch only: begin with the current state as synthetic events, closed by a bookmark with the " +
    "annotation k8s.io/initial-events-end. Needs resourceVersionMatch=NotOlderThan.",
);

const timeoutSeconds = query(
  "timeoutSeconds",
  "integer",
  "How long a list or a watch may last, whatever happens in it.",
);

export const listParameters: readonly ParameterModel[] = [
  query(
    "allowWatchBookmarks",
    "boolean",
    "Watch only: the server may send events of type BOOKMARK that carry nothing but a version.",
  ),
  ...paging,
  ...selectors,
  ...versions,
  sendInitialEvents,
  timeoutSeconds,
  query("watch", "boolean", "Answer with a stream of changes instead of a list."),
];

export const deleteCollectionParameters: readonly ParameterModel[] = [
  ...deleteParameters,
  ...paging,
  ...selectors,
  ...versions,
  sendInitialEvents,
  timeoutSeconds,
];

const streams = [
  query("stderr", "boolean", "Pass on the standard error stream."),
  query("stdin", "boolean", "Pass on the standard input stream."),
  query("stdout", "boolean", "Pass on the standard output stream."),
  query("tty", "boolean", "Allocate a terminal."),
];
const container = query(
  "container",
  "string",
  "Name of the container; may be left out when there is only one.",
);

export const pathParameter = path("path", "path to the resource");

/** Options of `connect` subresources and of `log`, by `<kind>/<subresource>`. */
export const subresourceParameters: Readonly<Record<string, readonly ParameterModel[]>> = {
  "Pod/attach": [container, ...streams],
  "Pod/exec": [
    query("command", "string", "The command to run, one argument each; no shell."),
    container,
    ...streams,
  ],
  "Pod/log": [
    container,
    query("follow", "boolean", "Go on with new lines as they come."),
    query("insecureSkipTLSVerifyBackend", "boolean", "Do not verify the kubelet's certificate."),
    query("limitBytes", "integer", "At most so many bytes."),
    query("previous", "boolean", "The log of the container before its last restart."),
    query("sinceSeconds", "integer", "Only lines of the last so many seconds."),
    query("stream", "string", "All, Stdout or Stderr."),
    query("tailLines", "integer", "Only the last so many lines."),
    query("timestamps", "boolean", "Put the time before each line."),
  ],
  "Pod/portforward": [query("ports", "integer", "Ports to forward; required over WebSockets.")],
  "Pod/proxy": [query("path", "string", "URL path of the proxied request to the pod.")],
  "Service/proxy": [query("path", "string", "URL path of the proxied request to the service.")],
  "Node/proxy": [query("path", "string", "URL path of the proxied request to the node.")],
};
