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

/** What may stand in a part as it is. */
type PlainCharacters = RegExp;

export interface RouteTemplate {
  readonly text: string;
  readonly parts: ReadonlySet<Part>;
  of(ref: ResourceRef, object: KubeObject): string;
  /** Of the marks of a source: as of an object without namespace, name and uid. */
  ofMarks(ref: ResourceRef): string;
}

/** `plain` must not take `mark`, but for "%". Throws SyntaxError for a part that is not known. */
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
  // Else an object of this name would share the marks' route.
  return text === "_" ? `${mark}5F` : text;
}
