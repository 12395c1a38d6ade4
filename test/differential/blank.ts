/**
 * Makes two servers' answers comparable: what each server must make up for itself (identities, times,
 * versions, addresses, tokens) becomes a name. Identities are numbered in order of appearance within
 * one case, so that "the same" and "another" stay visible; so are versions of single objects.
 */

type Fields = Readonly<Record<string, unknown>>;

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const instant = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;
const microInstant = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g;

/** One per case: remembers what it has named. */
/** Of `kubectl get`; minutes alone look like a quantity, and no case is minutes old. */
const age = /^(?:\d+s|\d+m\d+s|\d+h(?:\d+m)?|\d+d(?:\d+h)?|\d+y(?:\d+d)?)$/;

export class Blanks {
  readonly #uids = new Map<string, string>();
  readonly #versions = new Map<string, string>();
  readonly #names = new Map<string, string>();

  text(value: string): string {
    let text = value
      .replace(uuid, (uid) => nameIn(this.#uids, uid, "uid"))
      .replace(microInstant, "<micro time>")
      .replace(instant, "<time>")
      .replace(/kube-api-access-\w{5}\b/g, "kube-api-access-<5>")
      .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "<jwt>")
      .replace(/\b10\.96\.\d+\.\d+\b/g, "<cluster ip>")
      .replace(/current: \d+/g, "current: <rv>")
      .replace(/\bresourceVersion: "\d+"/g, 'resourceVersion: "<rv>"')
      .replace(/https?:\/\/127\.0\.0\.1:\d+/g, "<server>");
    for (const [name, blank] of this.#names) text = text.replaceAll(name, blank);
    return text;
  }

  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value !== "object" || value === null) return value;
    return this.#object(value as Fields);
  }

  #object(fields: Fields): unknown {
    this.#learnName(fields);
    const entries = Object.entries(fields).map(([key, inner]) => [
      key,
      this.#field(fields, key, inner),
    ]);
    return Object.fromEntries(entries);
  }

  #learnName({ name, generateName }: Fields): void {
    if (typeof name !== "string" || typeof generateName !== "string") return;
    if (!name.startsWith(generateName) || name.length !== generateName.length + 5) return;
    this.#names.set(name, `${generateName}<5>`);
  }

  #field(fields: Fields, key: string, inner: unknown): unknown {
    switch (key) {
      case "resourceVersion":
        if (typeof inner !== "string" || !/^\d+$/.test(inner)) return this.value(inner);
        return "uid" in fields ? nameIn(this.#versions, inner, "rv") : "<rv>";
      case "continue":
        return "<continue>";
      case "nodePort":
      case "healthCheckNodePort":
        return inner === 0 ? 0 : "<port>";
      case "cells":
        // Of what a case made: seconds on both sides, not the same number. Of a date in a case: its age today.
        return listOf(inner).map((cell) =>
          typeof cell === "string" && age.test(cell) ? "<age>" : this.value(cell),
        );
      case "columnDefinitions":
        // Their descriptions are each server's own words.
        return inner && listOf(inner).map((column) => ({ ...(column as Fields), description: "" }));
      default:
        return this.value(inner);
    }
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function nameIn(names: Map<string, string>, value: string, kind: string): string {
  const known = names.get(value);
  if (known !== undefined) return known;
  const name = `<${kind} ${names.size + 1}>`;
  names.set(value, name);
  return name;
}
