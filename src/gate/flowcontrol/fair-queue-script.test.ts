/** The fair queue as a script (`testdata/fair-queue.txt`): which work is seated when. */
import assert from "node:assert/strict";
import { FakeClock } from "#platform/testing/clock.ts";
import { testScript } from "#platform/testing/script.ts";
import { type Discipline, FairQueue, type Seating } from "./fair-queue.ts";

interface Settings {
  readonly seats: number;
  readonly queues: number;
  /** Works that may wait in one queue. */
  readonly length: number;
}

const settingsAtStart: Settings = { seats: 1, queues: 4, length: 50 };

function numbersOf(words: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    words.map((word) => {
      const [name = "", value] = word.split("=");
      return [name, Number(value)];
    }),
  );
}

/** A hand of one card: the script says which queue a work goes to. */
function disciplineOf({ queues, length }: Settings): Discipline {
  return { kind: "queue", queues, handSize: 1, queueLengthMax: length };
}

/** Commands of the script. `level` comes first, where it is not the one of `settingsAtStart`. */
function queueCommands() {
  const clock = new FakeClock();
  let lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const seatings = new Map<string, Seating>();
  let settings = settingsAtStart;
  const options = (): ConstructorParameters<typeof FairQueue>[1] => ({
    discipline: disciplineOf(settings),
    seatsMax: settings.seats,
  });
  const queue = new FairQueue({ clock, onDemand: () => {} }, options());
  const find = (name: string): Seating => {
    const seating = seatings.get(name);
    assert.ok(seating !== undefined, name);
    return seating;
  };
  const submit = (name: string, flow: number, words: readonly string[]): void => {
    const { seats = 1, final = 0, extra = 0 } = numbersOf(words);
    const size = { seats, finalSeats: final, extraMs: extra, isSmall: false };
    const work = { ...size, onSeat: () => say(`${name}: seated`) };
    const seating = queue.submit(work, { high: 0, low: flow });
    say(`${name}: ${seating?.state ?? "rejected"}`);
    if (seating !== undefined) seatings.set(name, seating);
  };
  const commands: Readonly<Record<string, (...args: string[]) => unknown>> = {
    level(...words) {
      settings = { ...settings, ...numbersOf(words) };
      queue.configure(options());
    },
    submit: (name = "", flow = "0", ...words) => submit(name, Number(flow), words),
    finish: (...names) => names.forEach((name) => queue.finish(find(name))),
    cancel: (name = "") => say(`${name}: ${queue.cancel(find(name)) ? "left" : "not waiting"}`),
    advance: (ms) => clock.advance(Number(ms)),
    state: () =>
      say(
        `seats ${queue.seatsInUse}/${queue.seatsMax} seated=${queue.seated} waiting=${queue.waiting}`,
      ),
  };
  return async (command: string, args: readonly string[]): Promise<readonly string[]> => {
    lines = [];
    const run = commands[command];
    assert.ok(run !== undefined, command);
    await run(...args);
    return lines;
  };
}

testScript(new URL("testdata/fair-queue.txt", import.meta.url), queueCommands);
