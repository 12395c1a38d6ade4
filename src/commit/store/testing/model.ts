/**
 * A store too simple to be wrong: it keeps every change in a list and answers by walking the list.
 * The oracle of the model test and of the crash test.
 */
interface ModelChange {
  readonly revision: number;
  readonly key: string;
  /** Undefined: deleted. */
  readonly value: string | undefined;
}

export class Model {
  readonly changes: ModelChange[] = [];
  revision = 1;
  compactRevision = 1;

  put(key: string, value: string): number {
    this.revision++;
    this.changes.push({ revision: this.revision, key, value });
    return this.revision;
  }

  /** Deletes several keys in one revision; keys that do not exist are skipped. */
  delete(keys: readonly string[]): number | undefined {
    const there = keys.filter((key) => this.get(key) !== undefined);
    if (there.length === 0) return undefined;
    this.revision++;
    for (const key of there.toSorted()) {
      this.changes.push({ revision: this.revision, key, value: undefined });
    }
    return this.revision;
  }

  /** The newest put of `key` at `at`, unless it was deleted after it. */
  get(key: string, at: number = this.revision): ModelChange | undefined {
    const last = this.changes.findLast((change) => change.key === key && change.revision <= at);
    return last?.value === undefined ? undefined : last;
  }

  modRevision(key: string): number {
    return this.get(key)?.revision ?? 0;
  }

  /** `key=value@revision` of all keys at `at`, in order. */
  state(at: number = this.revision): string[] {
    const keys = [...new Set(this.changes.map((change) => change.key))].toSorted();
    return keys.flatMap((key) => {
      const found = this.get(key, at);
      return found === undefined ? [] : [`${key}=${found.value}@${found.revision}`];
    });
  }

  /** The events that a watch of everything receives after `after`, formatted like TestSink.lines(). */
  events(after: number): string[] {
    return this.changes
      .filter((change) => change.revision > after)
      .map(({ revision, key, value }) =>
        value === undefined ? `${revision} -${key}` : `${revision} ${key}=${value}`,
      );
  }
}
