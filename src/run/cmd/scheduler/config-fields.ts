/**
 * One mapping of a configuration file. Whatever is wrong in it is named by file and path: a value of the wrong type
 * at once (`fault`), what upstream's validation finds all together (`note`, `throwNoted`), in its words.
 */
import type { FieldError } from "#api/status.ts";
import { UsageError } from "../shared/usage-error.ts";

export class ConfigFields {
  readonly path: string;
  readonly #file: string;
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #noted: FieldError[];

  /** Throws UsageError unless `value` is a mapping. `path` "": the root of the file. `noted`: the faults of the whole file. */
  constructor(file: string, path: string, value: unknown, noted: FieldError[] = []) {
    this.path = path;
    this.#file = file;
    this.#noted = noted;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.fault("", "must be a mapping");
    }
    this.#fields = value as Readonly<Record<string, unknown>>;
  }

  /** Throws for every field that upstream's decoder does not know. */
  refuseUnknown(known: readonly string[]): void {
    for (const field of Object.keys(this.#fields)) {
      if (known.includes(field)) continue;
      const at = JSON.stringify(this.at(field));
      throw new UsageError(`--config ${this.#file}: strict decoding error: unknown field ${at}`);
    }
  }

  note(...findings: readonly FieldError[]): void {
    this.#noted.push(...findings);
  }

  /** Throws UsageError when any fault was noted, anywhere in the file. */
  throwNoted(): void {
    const texts = this.#noted.map(({ field, message }) => `${field}: ${message}`);
    if (texts.length === 0) return;
    const [first = ""] = texts;
    const all = texts.length === 1 ? first : `[${texts.join(", ")}]`;
    throw new UsageError(`--config ${this.#file}: ${all}`);
  }

  has(field: string): boolean {
    return (this.#fields[field] ?? undefined) !== undefined;
  }

  raw(field: string): unknown {
    return this.#fields[field] ?? undefined;
  }

  /** Returns a child mapping, which is empty when the field is absent. */
  child(field: string): ConfigFields {
    return new ConfigFields(this.#file, this.at(field), this.raw(field) ?? {}, this.#noted);
  }

  list(field: string): readonly ConfigFields[] {
    const value = this.raw(field) ?? [];
    if (!Array.isArray(value)) throw this.fault(field, "must be a list");
    const at = this.at(field);
    return value.map((one, i) => new ConfigFields(this.#file, `${at}[${i}]`, one, this.#noted));
  }

  /** Returns a text. Undefined: the field is absent. The empty text counts as absent. */
  text(field: string): string | undefined {
    const value = this.raw(field);
    if (value === undefined || value === "") return undefined;
    if (typeof value !== "string") throw this.fault(field, "must be text");
    return value;
  }

  flag(field: string): boolean | undefined {
    const value = this.raw(field);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.fault(field, "must be true or false");
  }

  /** Returns any whole number of 32 bits. */
  integer(field: string): number | undefined {
    return this.number(field, -(2 ** 31), 2 ** 31 - 1);
  }

  texts(field: string): readonly string[] {
    const value = this.raw(field) ?? [];
    const isTexts = Array.isArray(value) && value.every((one) => typeof one === "string");
    if (!isTexts) throw this.fault(field, "must be a list of texts");
    return value as readonly string[];
  }

  /** Returns a whole number from `least` to `most`. */
  number(field: string, least: number, most: number): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) {
      return value as number;
    }
    throw this.fault(field, `must be a whole number from ${least} to ${most}`);
  }

  /** Returns an error about a field. `field` "": the mapping itself. */
  fault(field: string, what: string): UsageError {
    const at = field === "" ? this.path : this.at(field);
    return new UsageError(`--config ${this.#file}: ${at === "" ? "" : `${at} `}${what}`);
  }

  /** Returns the path of a field. */
  at(field: string): string {
    return this.path === "" ? field : `${this.path}.${field}`;
  }
}
