/**
 * The generation counter of a DaemonSet's template. Older versions had it as a field; apps/v1 shows it as an
 * annotation. Whatever the server compares has this annotation, even if the client left it out.
 */
import { parseInt64, parseInt64Error } from "../go/go-integer.ts";
import type { AnyObject } from "../object.ts";

const annotation = "deprecated.daemonset.template.generation";

/** 0 when the text is not a number; reading it is refused elsewhere. */
export function templateGenerationOf({ metadata }: AnyObject): bigint {
  return parseInt64(metadata?.annotations?.[annotation] ?? "0") ?? 0n;
}

export function withTemplateGeneration(daemonSet: AnyObject, value: bigint): AnyObject {
  const annotations = { ...daemonSet.metadata?.annotations, [annotation]: String(value) };
  return { ...daemonSet, metadata: { ...daemonSet.metadata, annotations } };
}

/** Shows the annotation as upstream's conversion to apps/v1 leaves it. */
export function showTemplateGeneration(daemonSet: AnyObject): AnyObject {
  return withTemplateGeneration(daemonSet, templateGenerationOf(daemonSet));
}

/** The error of Go's parser for the annotation; undefined: it is a number. */
export function templateGenerationFault({ metadata }: AnyObject): string | undefined {
  const text = metadata?.annotations?.[annotation];
  return text === undefined || parseInt64(text) !== undefined ? undefined : parseInt64Error(text);
}
