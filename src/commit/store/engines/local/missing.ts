/**
 * Detects missing segments and a missing end of the log, by what later files say about earlier ones.
 * Each check throws a CorruptionError that names the file.
 */
import { CorruptionError } from "../engine.ts";
import { newestFileName, pathOf } from "./files.ts";
import type { FileHeader } from "./files.ts";
import { type Place, remedy } from "./header.ts";

/** A prepared segment counts too, because it is created after its predecessor was durably begun. */
export function checkContiguous(place: Place, numbers: readonly number[]): void {
  for (let i = 1; i < numbers.length; i++) {
    const wanted = (numbers[i - 1] as number) + 1;
    if (numbers[i] !== wanted) throw missing(place, wanted, `segment ${numbers[i]} is there`);
  }
}

export function checkBegins(
  place: Place,
  first: FileHeader | undefined,
  checkpointRevision: number,
): void {
  if (first === undefined) {
    if (checkpointRevision > 0) throw missing(place, undefined, "there is a checkpoint");
    return;
  }
  const reaches =
    checkpointRevision > 0 ? first.revision <= checkpointRevision : first.number === 1;
  if (!reaches) throw missing(place, first.number - 1, `segment ${first.number} is there`);
}

/** Checks that the newest segment exists: one with records is removed only after a newer one was begun. */
export function checkNewest(place: Place, begun: readonly FileHeader[], newest: number): void {
  const last = begun.at(-1)?.number ?? 0;
  if (last >= newest) return;
  const but = `${newestFileName} names segment ${newest}`;
  throw missing(place, last + 1, but, `or remove ${newestFileName} to go on without it`);
}

/** Checks that the log reaches the checkpoint, which contains only what was durable in the log. */
export function checkReaches(
  place: Place,
  last: FileHeader | undefined,
  headRevision: number,
  checkpointRevision: number,
): void {
  if (last === undefined || Math.max(last.revision, headRevision) >= checkpointRevision) return;
  throw missing(place, last.number + 1, `there is a checkpoint of revision ${checkpointRevision}`);
}

function missing(
  place: Place,
  number: number | undefined,
  but: string,
  otherwise?: string,
): CorruptionError {
  const which = number === undefined ? "every log segment" : `log segment ${number}`;
  const path =
    number === undefined ? place.directory : pathOf(place.directory, { kind: "log", number });
  const advice = otherwise === undefined ? remedy : `${remedy}, ${otherwise}`;
  return new CorruptionError(`${path}: ${which} is missing, but ${but}: ${advice}`);
}
