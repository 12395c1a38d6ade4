/** One mapping of a configuration file. Whatever is wrong in it is named by file and path. */
import { UsageError } from "../shared/usage-error.ts";

export class ConfigFields {
  readonly path: string;
  readonly #file: string;
  readonly #fields: Readonly<Record<string, unknown>>;

  /** Throws UsageError unless `value` is a mapping. `path` "": the whole file. */
  constructor(file: string, path: string, value: unknown) {
    this.path = path;
    this.#file = file;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw this.fault("", "must be a mapping");
    }
    this.#fields = value as Readonly<Record<string, unknown>>;
  }

  /** Throws for every field that is not known and not empty. */
  refuseOthers(known: readonly string[], why: string): void {
    for (const [field, value] of Object.entries(this.#fields)) {
      const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
      if (!known.includes(field) && !isEmpty) throw this.fault(field, why);
    }
  }

  has(field: string): boolean {
    return (this.#fields[field] ?? undefined) !== undefined;
  }

  raw(field: string): unknown {
    return this.#fields[field] ?? undefined;
  }

  /** An empty mapping when the field is absent. */
  child(field: string): ConfigFields {
    return new ConfigFields(this.#file, this.#at(field), this.raw(field) ?? {});
  }

  list(field: string): readonly ConfigFields[] {
    const value = this.raw(field) ?? [];
    if (!Array.isArray(value)) throw this.fault(field, "must be a list");
    return value.map((one, i) => new ConfigFields(this.#file, `${this.#at(field)}[${i}]`, one));
  }

  /** Undefined: absent. The empty text counts as absent. */
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

  /** A whole number. */
  number(field: string, least: number, most: number): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) {
      return value as number;
    }
    throw this.fault(field, `must be a whole number from ${least} to ${most}`);
  }

  /** One of these texts. */
  oneOf<Choice extends string>(field: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(field);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw this.fault(field, `must be ${choices.join(" or ")}`);
    return found;
  }

  /** `field` "": the mapping itself. */
  fault(field: string, what: string): UsageError {
    const at = field === "" ? this.path : this.#at(field);
    return new UsageError(`--config ${this.#file}: ${at === "" ? "" : `${at} `}${what}`);
  }

  #at(field: string): string {
    return this.path === "" ? field : `${this.path}.${field}`;
  }
}
