/**
 * The network between writers and a model cluster, one step at a time: a seed chooses which request arrives, which
 * answer comes back, and which timer fires next. Requests and answers are lost, delayed and duplicated; a writer is
 * paused or crashes between any two of its steps. Requests of a crashed writer may still arrive.
 */
import type { Clock } from "#platform/clock.ts";
import { settle } from "#platform/testing/clock.ts";
import type { FakeRandom } from "#platform/testing/random.ts";
import type {
  Change,
  ChangeAnswer,
  ClusterKey,
  KeyRange,
  KeySink,
  LogCluster,
  ReadAnswer,
} from "../cluster.ts";
import { lost, type ModelCluster } from "./model-cluster.ts";

/** One process, from its start to its crash. */
export interface Life {
  readonly name: string;
  isCrashed: boolean;
  /** Number of steps for which it is paused. */
  pausedSteps: number;
}

type Step =
  | {
      readonly kind: "request";
      readonly life: Life;
      readonly arrive: () => void;
      /** The first step in which it may arrive. */
      readonly due: number;
    }
  /** An answer that arrives, or a timer that fires. */
  | { readonly kind: "own"; readonly life: Life; readonly run: () => void };

const stepMsMax = 40;
/** Maximum number of steps that a request may travel after its caller has given up. */
const lateStepsMax = 600;

export class Network {
  readonly #model: ModelCluster;
  readonly #random: FakeRandom;
  #steps: Step[] = [];
  #nowMs = 0;
  #count = 0;
  hasFaults = true;
  /** Called before each request that arrives. */
  onRequest: () => void = () => undefined;

  constructor(model: ModelCluster, random: FakeRandom) {
    this.#model = model;
    this.#random = random;
  }

  /** @returns false when no event is left. */
  async step(): Promise<boolean> {
    this.#steps = this.#steps.filter(({ kind, life }) => kind === "request" || !life.isCrashed);
    this.#count++;
    const possible = this.#steps.filter((step) =>
      step.kind === "request" ? step.due <= this.#count : step.life.pausedSteps === 0,
    );
    for (const life of new Set(this.#steps.map((step) => step.life))) {
      life.pausedSteps = Math.max(0, life.pausedSteps - 1);
    }
    if (possible.length === 0) return this.#steps.length > 0;
    this.#nowMs += this.#random.below(stepMsMax);
    const step = this.#random.pick(possible);
    this.#steps = this.#steps.filter((other) => other !== step);
    if (step.kind === "own") step.run();
    else {
      step.arrive();
      if (this.hasFaults && this.#random.chance(0.1)) this.#arriveLater(step.life, step.arrive);
    }
    await settle();
    return true;
  }

  /** `model` absent: the one given to the constructor. */
  cluster(life: Life, model: ModelCluster = this.#model): LogCluster {
    return {
      read: (ranges: readonly KeyRange[]) => this.#send<ReadAnswer>(life, () => model.read(ranges)),
      change: (change: Change) => this.#send<ChangeAnswer>(life, () => model.change(change)),
      watch: (prefix, sink) =>
        model.watch(prefix, {
          pushed: (keys) => this.#push(life, sink, keys),
          broke: () => sink.broke(),
        }),
    };
  }

  /** Delivers late, in any order, or not at all; a watch that broke is started again. */
  #push(life: Life, sink: KeySink, keys: readonly ClusterKey[]): void {
    if (this.hasFaults && this.#random.chance(0.1)) return;
    this.#steps.push({ kind: "own", life, run: () => sink.pushed(keys) });
  }

  clock(life: Life): Clock {
    return {
      nowMs: () => this.#nowMs,
      monotonicMs: () => this.#nowMs,
      after: (_name, delayMs, f) => {
        const run = (): void => {
          this.#nowMs += this.#random.below(delayMs + 1);
          f();
        };
        const step: Step = { kind: "own", life, run };
        this.#steps.push(step);
        return { cancel: () => (this.#steps = this.#steps.filter((other) => other !== step)) };
      },
    };
  }

  #arriveLater(life: Life, arrive: () => void): void {
    const due = this.#count + this.#random.below(lateStepsMax);
    this.#steps.push({ kind: "request", life, arrive, due });
  }

  #send<Answer>(life: Life, perform: () => Answer): Promise<Answer | typeof lost> {
    return new Promise((resolve) => {
      let isAnswered = false;
      const answer = (value: Answer | typeof lost): void => {
        if (isAnswered) return;
        isAnswered = true;
        this.#steps.push({ kind: "own", life, run: () => resolve(value) });
      };
      const arrive = (): void => {
        // The request is lost, or arrives after the deadline, or its answer is lost.
        const fault = this.hasFaults && !isAnswered ? this.#random.below(12) : 12;
        if (fault === 0) return answer(lost);
        if (fault === 1) {
          answer(lost);
          this.#arriveLater(life, arrive);
          return;
        }
        this.onRequest();
        const value = perform();
        answer(fault === 2 ? lost : value);
      };
      this.#steps.push({ kind: "request", life, arrive, due: this.#count });
    });
  }
}
