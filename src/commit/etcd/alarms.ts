/**
 * Alarms. NOSPACE is raised by the first write that found no room. From then on puts are
 * refused, so that the operator's deletes and compaction get through. CORRUPT refuses every write.
 * Both last until they are disarmed; with a memory they also last over restarts.
 *
 * Holds  after `settled` the memory holds every change made before the call.
 */
import type { Log } from "#platform/log.ts";
import { AlarmType } from "#wire/etcd-messages.ts";
import { etcdError } from "./rpc-error.ts";

export interface Alarm {
  /** The member named by the caller that raised it; clients name this server's. */
  readonly memberId: bigint;
  readonly alarm: number;
}

/** Persistence of alarms across restarts. */
export interface AlarmMemory {
  load(): Promise<readonly Alarm[]>;
  /** The alarms are durable when the promise resolves. Calls do not overlap. */
  save(alarms: readonly Alarm[]): Promise<void>;
}

export class Alarms {
  readonly #log: Log;
  readonly #memory: AlarmMemory | undefined;
  #active: readonly Alarm[];
  #saving: Promise<void> = Promise.resolve();
  /** Whether the last save failed. */
  #unkept = false;

  constructor(log: Log, memory?: AlarmMemory, active: readonly Alarm[] = []) {
    this.#log = log;
    this.#memory = memory;
    this.#active = active;
  }

  get active(): readonly Alarm[] {
    return this.#active;
  }

  has(alarm: number): boolean {
    return this.#active.some((one) => one.alarm === alarm);
  }

  /** Throws etcd's "database space exceeded" or "corrupt cluster" while that alarm is active. */
  checkSpace(): void {
    this.checkWhole();
    if (this.has(AlarmType.noSpace)) throw etcdError("noSpace");
  }

  checkWhole(): void {
    if (this.has(AlarmType.corrupt)) throw etcdError("corrupt");
  }

  raiseNoSpace(memberId: bigint, message: string): void {
    if (!this.activate({ memberId, alarm: AlarmType.noSpace })) return;
    this.#log.warn("alarm NOSPACE raised", { message });
    // If the alarm cannot be saved, the first put after a restart raises it again.
    this.settled().catch((error: unknown) => {
      this.#log.warn("the alarm could not be written down", { error: String(error) });
    });
  }

  /** @returns whether the alarm was inactive. */
  activate(alarm: Alarm): boolean {
    if (this.#active.some((one) => same(one, alarm))) return false;
    const order = (a: Alarm, b: Alarm): number =>
      a.memberId === b.memberId ? a.alarm - b.alarm : a.memberId < b.memberId ? -1 : 1;
    this.#change([...this.#active, alarm].toSorted(order));
    return true;
  }

  /** @returns whether the alarm was active. */
  deactivate(alarm: Alarm): boolean {
    const rest = this.#active.filter((one) => !same(one, alarm));
    if (rest.length === this.#active.length) return false;
    this.#change(rest);
    return true;
  }

  /** Resolves when the alarms are saved, retrying a failed save once. Rejects when that fails too. */
  settled(): Promise<void> {
    if (this.#unkept) this.#save();
    return this.#saving;
  }

  #change(active: readonly Alarm[]): void {
    this.#active = active;
    this.#save();
  }

  #save(): void {
    const memory = this.#memory;
    if (memory === undefined) return;
    const active = this.#active;
    this.#unkept = false;
    this.#saving = this.#saving.catch(() => undefined).then(() => memory.save(active));
    // Callers that need the outcome await `settled`; without such a caller the rejection must not be unhandled.
    this.#saving.catch(() => {
      this.#unkept = true;
    });
  }
}

function same(a: Alarm, b: Alarm): boolean {
  return a.memberId === b.memberId && a.alarm === b.alarm;
}

/** The alarm's name as etcd prints it. */
export function alarmName(alarm: number): string {
  return alarm === AlarmType.noSpace ? "NOSPACE" : "CORRUPT";
}
