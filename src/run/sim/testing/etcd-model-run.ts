/** Runs steps on the API and on the model, whose answers must be equal after each step. */
import assert from "node:assert/strict";
import * as m from "#wire/etcd-messages.ts";
import type { Input, Message } from "#wire/etcd-codec.ts";
import { EtcdApi, type ApiEngine, type ApiPlanted, type Restart } from "./etcd-api.ts";
import { EtcdModel, ModelRefusal } from "./etcd-model.ts";
import { ModelStream } from "./etcd-model-watch.ts";
import { absolute, absoluteRange, absoluteTxn, leaseCount, type Step } from "./etcd-steps.ts";
import { plain } from "./plain.ts";

const diskSeed = 1;
/** Duration of each step, so that no two relevant moments are the same. */
const stepMs = 1;

export class ModelRun {
  readonly #api: EtcdApi;
  readonly #model = new EtcdModel();
  readonly #streams = new Map<number, ModelStream>();

  static async start(engine: ApiEngine, planted: ApiPlanted): Promise<ModelRun> {
    const run = new ModelRun(engine, planted);
    await run.#api.start();
    return run;
  }

  private constructor(engine: ApiEngine, planted: ApiPlanted) {
    this.#api = new EtcdApi(engine, diskSeed, planted);
  }

  async step(step: Step): Promise<void> {
    await this.#do(step);
    await this.#pass(stepMs);
    this.#check();
  }

  /** Ends all stalls, and compares the whole state once more. */
  async end(): Promise<void> {
    for (const stream of this.#streams.values()) stream.drain();
    await this.#pass(stepMs);
    this.#check();
    const everything = m.rangeRequest.decode(m.rangeRequest.encode({ key: "\0", rangeEnd: "\0" }));
    await this.#range(everything);
    await this.#api.stop();
  }

  async #do(step: Step): Promise<void> {
    const { head } = this.#model;
    switch (step.kind) {
      case "range":
        return this.#range(absoluteRange(step.request, head));
      case "put":
        return this.#same("KV/Put", m.putRequest, m.putResponse, step.request, (request) =>
          this.#model.put(request),
        );
      case "delete":
        return this.#same(
          "KV/DeleteRange",
          m.deleteRangeRequest,
          m.deleteRangeResponse,
          step.request,
          (request) => this.#model.delete(request),
        );
      case "txn":
        return this.#same(
          "KV/Txn",
          m.txnRequest,
          m.txnResponse,
          absoluteTxn(step.request, head),
          (request) => this.#model.txn(request),
        );
      case "compact": {
        const fields = { revision: absolute(step.revision, head), physical: false };
        return this.#same("KV/Compact", m.compactionRequest, m.headerResponse, fields, (request) =>
          this.#model.compact(request),
        );
      }
      case "time":
        return this.#pass(step.seconds * 1000);
      case "restart":
        return this.#restart(step.how);
      default:
        return this.#more(step, head);
    }
  }

  async #more(
    step: Exclude<
      Step,
      { readonly kind: "range" | "put" | "delete" | "txn" | "compact" | "time" | "restart" }
    >,
    head: number,
  ): Promise<void> {
    const { nowMs } = this.#api;
    switch (step.kind) {
      case "grant": {
        // No two live leases get the same TTL, so that they never end at the same moment.
        const ttl = leaseCount * (1 + step.rounds) + Number(step.id);
        const fields = { id: step.id, ttl };
        return this.#same(
          "Lease/LeaseGrant",
          m.leaseGrantRequest,
          m.leaseGrantResponse,
          fields,
          (r) => this.#model.grant(r, nowMs),
        );
      }
      case "revoke":
        return this.#same("Lease/LeaseRevoke", m.leaseRevokeRequest, m.headerResponse, step, (r) =>
          this.#model.revoke(r),
        );
      case "keepAlive":
        return this.#keepAlive(step.id);
      case "timeToLive":
        return this.#same(
          "Lease/LeaseTimeToLive",
          m.leaseTimeToLiveRequest,
          m.leaseTimeToLiveResponse,
          step,
          (request) => this.#model.timeToLive(request, nowMs),
        );
      case "leases":
        return this.#same("Lease/LeaseLeases", m.empty, m.leaseLeasesResponse, {}, () =>
          this.#model.list(),
        );
      case "watch":
        return this.#stream(step.stream).create(step.spec, absolute(step.start, head));
      case "cancel":
        return this.#stream(step.stream).cancel(step.nth);
      case "progress":
        return this.#askProgress(this.#stream(step.stream));
      case "stall":
        return this.#stream(step.stream).stall();
      case "drain":
        return this.#stream(step.stream).drain();
      default:
        return step satisfies never;
    }
  }

  #range(request: m.RangeRequest): Promise<void> {
    return this.#same("KV/Range", m.rangeRequest, m.rangeResponse, request, (r) =>
      this.#model.range(r),
    );
  }

  async #same<Q, A>(
    path: string,
    request: Message<Q>,
    response: Message<A>,
    fields: Input<Q>,
    model: (request: Q) => object,
  ): Promise<void> {
    const wanted = answerOf(() => model(request.decode(request.encode(fields))));
    const got = await this.#api.call(path, request, response, fields);
    assert.equal(plain(got), plain(wanted), `${path} ${plain(fields)}`);
  }

  async #keepAlive(id: bigint): Promise<void> {
    const answers: unknown[] = [];
    const stream = this.#api.stream("Lease/LeaseKeepAlive", (bytes) =>
      answers.push(m.leaseKeepAliveResponse.decode(Buffer.from(bytes))),
    );
    const wanted = this.#model.keepAlive({ id }, this.#api.nowMs);
    stream.ask(m.leaseKeepAliveRequest.encode({ id }));
    await this.#api.settle();
    stream.cut();
    assert.equal(plain(answers), plain([wanted]));
  }

  async #askProgress(stream: ModelStream): Promise<void> {
    const before = stream.answeredProgress;
    const due = stream.askProgress();
    await this.#api.settle();
    if (stream.stalled) return;
    assert.equal(stream.answeredProgress - before, due ? 1 : 0, "answers to a progress request");
  }

  async #pass(ms: number): Promise<void> {
    this.#model.pass(this.#api.nowMs + ms);
    await this.#api.pass(ms);
  }

  async #restart(how: Restart): Promise<void> {
    this.#streams.clear();
    await this.#api.restart(how);
    if (this.#api.forgets) return;
    this.#model.restart(this.#api.nowMs);
  }

  #stream(number: number): ModelStream {
    const known = this.#streams.get(number);
    if (known !== undefined) return known;
    const made = new ModelStream(this.#api, this.#model);
    this.#streams.set(number, made);
    return made;
  }

  #check(): void {
    const all = [...this.#streams.values()];
    assert.deepEqual(
      all.flatMap((stream) => [...stream.problems, ...stream.missing()]),
      [],
    );
  }
}

function answerOf(model: () => object): object | string {
  try {
    return model();
  } catch (error) {
    if (error instanceof ModelRefusal) return error.message;
    throw error;
  }
}
