/**
 * Subjects, streams and topics by template: `k8s.{group}.{resource}.{namespace}.{name}`.
 *
 * Holds  two objects that differ in a named part get different routes: what a target does not take in a
 *        name is written as `%2E`, and `%` itself too. A part that is empty is `_`, as no object's name is.
 *        Kafka takes no `%` in a topic: there `_` stands for it (`_2E`), and `_` itself is `_5F`.
 */
import type { KubeObject } from "#api/object.ts";
import type { ResourceRef } from "#client/client.ts";

const parts = ["group", "version", "resource", "namespace", "name", "uid"] as const;
type Part = (typeof parts)[number];

/** Matches a character that needs no escape in a part. */
type PlainCharacters = RegExp;

export interface RouteTemplate {
  readonly text: string;
  readonly parts: ReadonlySet<Part>;
  of(ref: ResourceRef, object: KubeObject): string;
  /** Returns the route of a source's marks: that of an object without namespace, name and uid. */
  ofMarks(ref: ResourceRef): string;
}

/** `plain` must not match `mark`, unless that is "%". Throws SyntaxError for an unknown part. */
export function parseRoute(
  text: string,
  plain: PlainCharacters,
  mark: "%" | "_" = "%",
): RouteTemplate {
  const used = new Set<Part>();
  for (const [, name = ""] of text.matchAll(/\{([^}]*)\}?/g)) {
    if (!isPart(name)) throw new SyntaxError(`{${name}} is not known; known: ${parts.join(", ")}`);
    used.add(name);
  }
  if (/[{}]/.test(text.replace(/\{[^}]*\}/g, ""))) throw new SyntaxError("a brace stands alone");
  const pieces = text.split(/\{([^}]*)\}/);
  const write = (values: Readonly<Record<Part, string>>): string =>
    pieces
      .map((piece, at) => (at % 2 === 0 ? piece : escape(values[piece as Part], plain, mark)))
      .join("");
  return {
    text,
    parts: used,
    of: (ref, { metadata }) =>
      write({
        ...ref,
        namespace: metadata?.namespace ?? "",
        name: metadata?.name ?? "",
        uid: metadata?.uid ?? "",
      }),
    ofMarks: (ref) => write({ ...ref, namespace: "", name: "", uid: "" }),
  };
}

function isPart(name: string): name is Part {
  return (parts as readonly string[]).includes(name);
}

function escape(value: string, plain: PlainCharacters, mark: "%" | "_"): string {
  if (value === "") return "_";
  let text = "";
  for (const byte of new TextEncoder().encode(value)) {
    const character = String.fromCharCode(byte);
    const isPlain = byte < 128 && plain.test(character);
    text += isPlain ? character : `${mark}${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  // Without the escape, an object named "_" would have the same route as the marks.
  return text === "_" ? `${mark}5F` : text;
}
