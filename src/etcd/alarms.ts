/**
 * The NOSPACE alarm: raised by the first write that found no room, and from then on puts are
 * refused, so that the operator's deletes and compaction get through, until it is disarmed.
 *
 * Kept in memory: after a restart the first write without room raises it anew.
 */
import type { Log } from "#platform/log.ts";
import { AlarmType } from "#wire/etcd-messages.ts";
import { etcdError } from "./rpc-error.ts";

export class Alarms {
  readonly #log: Log;
  /** By type; at most one member, ours. */
  readonly #active = new Set<number>();

  constructor(log: Log) {
    this.#log = log;
  }

  get active(): readonly number[] {
    return [...this.#active].toSorted((a, b) => a - b);
  }

  /** Throws etcd's "database space exceeded" while the alarm is on. */
  checkSpace(): void {
    if (this.#active.has(AlarmType.noSpace)) throw etcdError("noSpace");
  }

  raiseNoSpace(message: string): void {
    if (this.activate(AlarmType.noSpace)) this.#log.warn("alarm NOSPACE raised", { message });
  }

  /** @returns whether it was off. */
  activate(type: number): boolean {
    if (this.#active.has(type)) return false;
    this.#active.add(type);
    return true;
  }

  /** @returns whether it was on. */
  deactivate(type: number): boolean {
    return this.#active.delete(type);
  }
}
