/** A stream over tables of plain texts; tests can inspect its questions about rights and its responses. */
import { hash } from "node:crypto";
import { textField } from "../message-fields.ts";
import { DiscoveryStream } from "../discovery-stream.ts";
import type { StreamLimits } from "../limits.ts";
import type { Refusal } from "../discovery-messages.ts";
import { ResourceForms } from "../resource-forms.ts";
import { contentOf } from "../resource.ts";
import { ResourceTable } from "../resource-table.ts";
import { joined } from "./test-client.ts";

const testLimits: StreamLimits = {
  namesMax: 100,
  nameLengthMax: 200,
  typesMax: 8,
  scopesMax: 10,
  responseBytesMax: 100_000,
};
export const tableLimits = { changesMax: 1000, formerMax: 100 };

export function digestOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${hash("sha256", bytes, "hex").slice(0, 32)}`);
}

/** Sets a resource with a text as its content. The scope is the part of the name before a slash. */
export function put(table: ResourceTable, name: string, text: string | undefined): void {
  if (text === undefined) return table.delete(name);
  const content = contentOf(digestOf, name, table.typeUrl, textField(1, text));
  table.set({ name, scope: scopeOf(name), isListed: !name.startsWith("-"), content });
}

function scopeOf(name: string): string {
  const slash = name.indexOf("/");
  return slash < 0 ? "" : name.slice(0, slash);
}

export class Tables {
  readonly #tables = new Map<string, ResourceTable>();

  of(type: string): ResourceTable {
    const table = this.#tables.get(type) ?? new ResourceTable(type, tableLimits);
    this.#tables.set(type, table);
    return table;
  }
}

interface TestStreamOptions {
  readonly protocol: "delta" | "state";
  readonly limits?: Partial<StreamLimits>;
  readonly ttlMs?: number;
  /** Absent: every scope may be read. */
  readonly mayRead?: (scope: string) => boolean;
}

export class TestStream {
  readonly stream: DiscoveryStream;
  /** Messages that the test has not read yet. */
  readonly sent: Uint8Array[] = [];
  readonly asked: string[] = [];
  readonly answers: (Refusal | undefined)[] = [];
  isFull = false;
  names = 0;
  #isAwake = false;

  constructor(
    tables: Tables,
    { protocol, limits, ttlMs = 0, mayRead = () => true }: TestStreamOptions,
  ) {
    const isFull = (): boolean => this.isFull;
    const unanswered: string[] = [];
    this.stream = new DiscoveryStream(
      {
        tableOf: (type) => tables.of(type),
        scopeOf: (_type, name) => scopeOf(name),
        ask: (scope) => {
          this.asked.push(scope);
          unanswered.push(scope);
        },
        wake: () => (this.#isAwake = true),
        takeNames: (change) => (this.names += change) <= 1000,
        forms: new ResourceForms(ttlMs),
        answered: (_type, refusal) => this.answers.push(refusal),
        sink: {
          get isFull() {
            return isFull();
          },
          send: (pieces) => this.sent.push(joined(pieces)),
        },
      },
      { ...testLimits, ...limits },
      protocol,
    );
    this.#decide = () => {
      for (let scope = unanswered.shift(); scope !== undefined; scope = unanswered.shift()) {
        this.stream.decide(scope, mayRead(scope));
      }
    };
  }

  readonly #decide: () => void;

  ask(request: Uint8Array): void {
    this.stream.receive(request);
    this.settle();
  }

  /** Answers the questions about rights, and sends everything that is due. */
  settle(): void {
    this.#decide();
    while (this.#isAwake) {
      this.#isAwake = false;
      this.stream.pump();
    }
  }
}
