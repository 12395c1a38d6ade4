/**
 * Reads an operator's YAML file field by field, and notes every mistake with its line and field:
 * `line 4: views[0].zone.minimum: must be a whole number from 1 on`.
 *
 * Holds  what cannot be read is noted and replaced by something harmless; a file with problems is not used.
 */
import { yamlLine } from "./yaml.ts";

export type FieldPath = readonly (string | number)[];
export type Fields = Readonly<Record<string, unknown>>;

/** Maximum errors reported with their lines; further ones are only counted. */
const problemsMax = 20;

export class YamlFields {
  readonly #problems: string[] = [];
  #more = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get problems(): readonly string[] {
    return this.#more === 0 ? this.#problems : [...this.#problems, `and ${this.#more} more`];
  }

  map(value: unknown, path: FieldPath, allowed?: readonly string[]): Fields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.problem(path, "must be a map");
      return {};
    }
    for (const key of Object.keys(value)) {
      if (allowed?.includes(key) === false) {
        this.problem([...path, key], `is not known; known: ${allowed.join(", ")}`);
      }
    }
    // Checked above: a map of YAML is a record.
    return value as Fields;
  }

  /** "" when the field is absent. */
  text(map: Fields, path: FieldPath, name: string): string {
    const value = map[name] ?? "";
    if (typeof value === "string") return value;
    this.problem([...path, name], "must be a text");
    return "";
  }

  requiredText(map: Fields, path: FieldPath, name: string): string {
    const text = this.text(map, path, name);
    if (text === "" && (map[name] === undefined || map[name] === "")) {
      this.problem([...path, name], "is required");
    }
    return text;
  }

  /** A name, which must be unique among those of the same list (`views`, `sinks`). */
  name(map: Fields, path: FieldPath): string {
    const name = this.requiredText(map, path, "name");
    if (name !== "" && !/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
      const text = "must be of lower case letters, digits, - and ., 63 at most";
      this.problem([...path, "name"], text);
    }
    return name;
  }

  texts(map: Fields, path: FieldPath, name: string): readonly string[] {
    const { [name]: texts = [] } = map;
    const isText = (one: unknown): one is string => typeof one === "string" && one !== "";
    if (Array.isArray(texts) && texts.every(isText)) return [...new Set(texts)];
    this.problem([...path, name], "must be a list of names");
    return [];
  }

  wholeNumber(map: Fields, path: FieldPath, name: string, standard: number): number {
    const { [name]: value = standard } = map;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return value;
    this.problem([...path, name], "must be a whole number from 1 on");
    return standard;
  }

  /** Undefined for "", and for a text that does not parse. */
  parsed<T>(path: FieldPath, text: string, parse: (text: string) => T): T | undefined {
    if (text === "") return undefined;
    try {
      return parse(text);
    } catch (error) {
      this.problem(path, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  problem(path: FieldPath, text: string): void {
    if (this.#problems.length === problemsMax) return void this.#more++;
    const field = path.reduce<string>(
      (made, part) => (typeof part === "number" ? `${made}[${part}]` : `${made}.${part}`),
      "",
    );
    const where = field === "" ? "the file" : field.slice(1);
    this.#problems.push(`line ${yamlLine(this.#text, path)}: ${where}: ${text}`);
  }
}
