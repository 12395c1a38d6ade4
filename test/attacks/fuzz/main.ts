/**
 * `npm run attacks -- --fuzz N`: N bodies for each decoder, grown by grammar and mutated, run in this
 * process; an input that costs more than `microsPerByteMax` of its thread's CPU is a find. A find is run
 * again and counts by its fastest run: compilation and collection are nobody's fault.
 */
import { checkFields } from "#api/schema/decode.ts";
import { objectLimits } from "#api/json/object-limits.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import { must } from "#base/assert.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { decodeProtobuf, TooManyFieldsError } from "#forms/protobuf/decode.ts";
import { parseJsonNotingDuplicates } from "#wire/json.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { yamlSource } from "#wire/yaml/source.ts";
import { yamlOutput } from "#wire/yaml-reader.ts";

const microsPerByteMax = 1;
/** On a thread of its own, never on the loop; the task has 10 s for a document. */
const yamlMicrosPerByteMax = 12;
/** Shorter inputs are noise. */
const bytesMin = 16 * 1024;
const bytesMax = 256 * 1024;
/** A document of some seconds is no noise at a tenth of that. */
const yamlBytesMin = 4 * 1024;
const yamlBytesMax = 24 * 1024;
const runsOfFind = 5;

const [count = "100", seed = process.env["PILOTHOUSE_SEED"] ?? "1"] = process.argv.slice(2);
const random = new FakeRandom(Number(seed));
const gvk = { group: "", version: "v1", kind: "Pod" };
const schema = must(schemaOfKind(gvk), "pods have a schema");

const words = [
  "metadata",
  "spec",
  "containers",
  "name",
  "a",
  "__proto__",
  "labels",
  "x".repeat(40),
];
const leaves = [
  "0",
  "1e400",
  '""',
  '"\\n"',
  "null",
  "true",
  "[]",
  "{}",
  '"2Gi"',
  "9007199254740993",
];

const { depthMax, partsMax, keysMax } = objectLimits;
const parseLimits = { depthMax, partsMax, keysMax, bytesMax: 2 ** 30, aliasMax: 100 };

interface Decoder {
  /** Absent: `microsPerByteMax`. */
  readonly microsPerByteMax?: number;
  readonly make: () => Buffer;
  readonly run: (input: Buffer) => void;
}

const decoders: Readonly<Record<string, Decoder>> = {
  json: { make: jsonText, run: (input) => void parse(input) },
  "typed json": { make: jsonText, run: decodeTyped },
  protobuf: { make: protobufBytes, run: decodeBytes },
  yaml: { make: yamlText, run: decodeYaml, microsPerByteMax: yamlMicrosPerByteMax },
};

let finds = 0;
for (const [name, decoder] of Object.entries(decoders)) {
  const most = decoder.microsPerByteMax ?? microsPerByteMax;
  let worst = 0;
  for (let at = 0; at < Number(count); at++) {
    const input = decoder.make();
    let cost = costOf(decoder.run, input);
    for (let again = 1; cost > most && again < runsOfFind; again++) {
      cost = Math.min(cost, costOf(decoder.run, input));
    }
    worst = Math.max(worst, cost);
    if (cost <= most) continue;
    finds++;
    const excerpt = input.subarray(0, 80).toString("latin1");
    console.log(`find: ${name}, ${input.length} bytes, ${cost.toFixed(2)} µs a byte: ${excerpt}`);
  }
  console.log(`${name}: ${count} inputs, at most ${worst.toFixed(3)} µs a byte`);
}
console.log(`seed ${seed}: ${finds} finds`);
if (finds > 0) process.exitCode = 1;

function costOf(run: (input: Buffer) => void, input: Buffer): number {
  const before = process.threadCpuUsage();
  run(input);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / input.length;
}

function parse(input: Buffer): unknown {
  const result = parseJsonNotingDuplicates(input.toString(), parseLimits);
  return result.kind === "ok" ? result.value : undefined;
}

function decodeTyped(input: Buffer): void {
  checkFields(parse(input), schema);
}

function decodeYaml(input: Buffer): void {
  yamlOutput({ source: yamlSource(input), limits: parseLimits });
}

function decodeBytes(input: Buffer): void {
  try {
    decodeProtobuf(gvk, input);
  } catch (error) {
    if (!(error instanceof ProtobufError) && !(error instanceof TooManyFieldsError)) throw error;
  }
}

/** A document of one repeated motif: what is dear is dear a thousand times. */
function jsonText(): Buffer {
  const motif = jsonMotif(3);
  const wanted = bytesMin + random.below(bytesMax - bytesMin);
  const isMap = random.below(2) === 0;
  const parts: string[] = [];
  for (let length = 0; length < wanted; length += parts.at(-1)?.length ?? 1) {
    parts.push(isMap ? `"k${random.below(2) === 0 ? parts.length : 0}":${motif}` : motif);
  }
  const text = isMap ? `{${parts.join(",")}}` : `{"spec":{"containers":[${parts.join(",")}]}}`;
  return mutated(Buffer.from(text));
}

function jsonMotif(depth: number): string {
  const leaf = leaves[random.below(leaves.length)] ?? "0";
  if (depth === 0 || random.below(3) === 0) return leaf;
  const items = Array.from({ length: 1 + random.below(4) }, () => jsonMotif(depth - 1));
  if (random.below(2) === 0) return `[${items.join(",")}]`;
  const word = (): string => words[random.below(words.length)] ?? "a";
  return `{${items.map((item) => `"${word()}":${item}`).join(",")}}`;
}

/** The same motifs in flow style below block style, with what JSON does not have. */
function yamlText(): Buffer {
  const wanted = yamlBytesMin + random.below(yamlBytesMax - yamlBytesMin);
  const motifs = [
    jsonMotif(3),
    "&a [*a]",
    "? {a: b}\n: c",
    "|\n    text\n    more",
    "!!str 1",
    "<<: {a: 1}",
  ];
  const parts: string[] = [];
  for (let length = 0; length < wanted; length += parts.at(-1)?.length ?? 1) {
    const motif = motifs[random.below(2) === 0 ? 0 : random.below(motifs.length)] ?? "a";
    parts.push(random.below(2) === 0 ? `- ${motif}` : `- k: ${motif.replaceAll("\n", " ")}`);
  }
  return mutated(Buffer.from(`spec:\n${parts.join("\n")}\n`));
}

/** Half of the texts stay as they are. */
function mutated(input: Buffer): Buffer {
  if (random.below(2) === 0) return input;
  for (let at = random.below(4); at >= 0; at--) {
    input[random.below(input.length)] = 0x20 + random.below(95);
  }
  return input;
}

function protobufBytes(): Buffer {
  const motif = protobufMotif(3);
  const wanted = bytesMin + random.below(bytesMax - bytesMin);
  const repeated = Buffer.concat(Array(Math.ceil(wanted / motif.length)).fill(motif));
  return mutated(random.below(2) === 0 ? repeated : wrapped(1 + random.below(3), repeated));
}

function protobufMotif(depth: number): Buffer {
  const number = 1 + random.below(20);
  if (depth === 0 || random.below(3) === 0)
    return Buffer.from([number * 8 > 127 ? 8 : number * 8, 1]);
  const inner = Array.from({ length: random.below(4) }, () => protobufMotif(depth - 1));
  return wrapped(number > 15 ? 15 : number, Buffer.concat(inner));
}

function wrapped(number: number, inner: Buffer): Buffer {
  const length: number[] = [];
  let rest = inner.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), inner]);
}
