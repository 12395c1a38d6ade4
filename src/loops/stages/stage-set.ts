/**
 * The stages of a process, by kind: from files, and from the API, where one of the same name and kind replaces a file's.
 *
 * Bounds stagesMax in all; a further one is refused with a problem. `changed` is called with the kinds concerned.
 */
import type { JsonObject } from "#api/object.ts";
import type { Stage, StageTarget } from "./stage.ts";
import { readStage } from "./stage-reader.ts";
import { servedProblems } from "./served-stage.ts";

export const stagesMax = 256;

export class StageSet {
  readonly #files: readonly Stage[];
  #served: readonly Stage[] = [];
  #byKind: ReadonlyMap<string, readonly Stage[]>;
  /** Called with the affected kinds when their stages have changed. */
  changed: (kinds: ReadonlySet<string>) => void = () => {};

  constructor(files: readonly Stage[]) {
    this.#files = files;
    this.#byKind = groupByKind(files);
  }

  of(target: StageTarget): readonly Stage[] {
    return this.#byKind.get(kindKey(target)) ?? [];
  }

  targets(): readonly StageTarget[] {
    return [...this.#byKind.values()].flatMap(([first]) =>
      first === undefined ? [] : [first.target],
    );
  }

  /** @returns by name: the problems of the objects. */
  serve(objects: readonly JsonObject[]): ReadonlyMap<string, readonly string[]> {
    const problems = new Map<string, readonly string[]>();
    const stages: Stage[] = [];
    for (const object of objects) {
      const reading = readStage(object);
      const beyond = reading.stage === undefined ? [] : servedProblems(reading.stage);
      const wrong = [...reading.problems, ...beyond];
      if (wrong.length > 0) problems.set(nameOf(object), wrong);
      if (reading.stage === undefined || wrong.length > 0) continue;
      if (stages.length + this.#files.length < stagesMax) stages.push(reading.stage);
      else problems.set(nameOf(object), [`there are ${stagesMax} stages already`]);
    }
    const old = this.#byKind;
    this.#served = stages;
    const names = new Set(stages.map(nameInKind));
    const files = this.#files.filter((stage) => !names.has(nameInKind(stage)));
    this.#byKind = groupByKind([...files, ...this.#served]);
    this.changed(new Set([...old.keys(), ...this.#byKind.keys()]));
    return problems;
  }
}

export function kindKey({ apiVersion, kind }: StageTarget): string {
  return `${apiVersion} ${kind}`;
}

function nameInKind({ name, target }: Stage): string {
  return `${kindKey(target)} ${name}`;
}

function groupByKind(stages: readonly Stage[]): ReadonlyMap<string, readonly Stage[]> {
  return Map.groupBy(stages, ({ target }) => kindKey(target));
}

function nameOf(object: JsonObject): string {
  const { metadata } = object;
  const name = (metadata as JsonObject | undefined)?.["name"];
  return typeof name === "string" ? name : "";
}
