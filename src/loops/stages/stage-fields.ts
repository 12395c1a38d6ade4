/** Reads fields of a Stage object with checks. Problems are recorded, and the field gets a harmless default. */
import { isRecord } from "#base/is-record.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { TemplateError } from "./template/budget.ts";

const problemsMax = 20;

export class StageFields {
  readonly #problems: string[] = [];

  get problems(): readonly string[] {
    return this.#problems;
  }

  problem(path: string, text: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(`${path}: ${text}`);
  }

  /** @returns undefined when `f` throws TemplateError, which is recorded as a problem. */
  attempt<T>(path: string, f: () => T): T | undefined {
    try {
      return f();
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      this.problem(path, error.message);
      return undefined;
    }
  }

  map(of: JsonObject, name: string): JsonObject {
    const value = of[name] ?? {};
    if (isMap(value)) return value;
    this.problem(name, "must be a map");
    return {};
  }

  text(of: JsonObject, name: string): string {
    const value = of[name] ?? "";
    if (typeof value === "string") return value;
    this.problem(name, "must be a text");
    return "";
  }

  number(of: JsonObject, name: string): number | undefined {
    const value = of[name] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    this.problem(name, "must be a whole number from 0 on");
    return undefined;
  }

  flag(of: JsonObject, name: string): boolean {
    const value = of[name] ?? false;
    if (typeof value === "boolean") return value;
    this.problem(name, "must be true or false");
    return false;
  }

  oneOf<T extends string>(of: JsonObject, name: string, known: readonly T[]): T | undefined {
    const text = this.text(of, name);
    const found = known.find((one) => one === text);
    if (found === undefined && text !== "") {
      this.problem(name, `is ${JSON.stringify(text)}; known: ${known.join(", ")}`);
    }
    return found;
  }

  list(of: JsonObject, name: string, most: number): readonly JsonObject[] {
    const value = of[name] ?? [];
    if (Array.isArray(value) && value.length <= most && value.every(isMap)) return value;
    this.problem(name, `must be a list of at most ${most} maps`);
    return [];
  }

  strings(of: JsonObject, name: string, most: number): readonly string[] {
    const value = of[name] ?? [];
    if (Array.isArray(value) && value.length <= most && value.every(isText)) return value;
    this.problem(name, `must be a list of at most ${most} texts`);
    return [];
  }

  texts(of: JsonObject, name: string): Readonly<Record<string, string>> {
    const value = this.map(of, name);
    if (Object.values(value).every(isText)) return value as Readonly<Record<string, string>>; // Checked.
    this.problem(name, "must be a map of texts");
    return {};
  }
}

function isMap(value: JsonValue): value is JsonObject {
  return isRecord(value);
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string";
}
