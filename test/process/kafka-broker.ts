/**
 * A Kafka broker for tests: of Maven's jars, which are copied once into `.cache` of this tree, where java and mvn
 * are. One process that is broker and controller, on loopback, with small topics of its own.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./harness.ts";
import { SinkServer } from "./sink-servers.ts";
import { freePort } from "./stock-apiserver.ts";

/** Where its jars are, or why there are none. */
type FoundKafka = { readonly jars: string } | { readonly reason: string };

const version = "3.9.1";
const root = join(import.meta.dirname, "../..");
/** As much as a small broker needs, and nothing that takes long to warm up. */
const javaFlags = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/** Downloads them at first. Never throws: without them tests are skipped, with the reason. */
export function findKafka(): FoundKafka {
  const named = process.env["PILOTHOUSE_KAFKA_JARS"] || undefined;
  if (run("java", ["-version"], {}).code !== 0) return { reason: "no Kafka: no java on the PATH" };
  if (named !== undefined) return { jars: named };
  const jars = join(root, ".cache", `kafka-${version}`);
  if (existsSync(jars)) return { jars };
  if (run("mvn", ["-v"], {}).code !== 0) {
    return { reason: "no Kafka: no mvn on the PATH, and PILOTHOUSE_KAFKA_JARS names no folder" };
  }
  return download(jars);
}

function download(jars: string): FoundKafka {
  mkdirSync(join(root, ".cache"), { recursive: true });
  // Beside, then renamed: another test process may be at it too.
  const beside = mkdtempSync(`${jars}-`);
  const pom = join(import.meta.dirname, "kafka/pom.xml");
  const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime"];
  const { code } = run("mvn", ["-B", "-q", "-f", pom, ...goal, `-DoutputDirectory=${beside}`], {});
  if (code === 0 && !existsSync(jars)) renameSync(beside, jars);
  else rmSync(beside, { recursive: true, force: true });
  return existsSync(jars)
    ? { jars }
    : { reason: `no Kafka: Maven could not copy org.apache.kafka:kafka_2.13:${version}` };
}

interface BrokerOptions {
  /** A second listener, named SECURE, of SASL over TLS. */
  readonly securePort?: number;
  /** Lines of server.properties that come last. */
  readonly properties?: readonly string[];
  /** Arguments of the formatting of its storage. */
  readonly format?: readonly string[];
}

export async function startKafka(
  jars: string,
  directory: string,
  { securePort, properties = [], format = [] }: BrokerOptions = {},
): Promise<SinkServer> {
  mkdirSync(directory, { recursive: true });
  const ports = { client: await freePort(), controller: await freePort(), secure: securePort };
  const file = join(directory, "server.properties");
  const lines = [...standard(ports, directory), ...properties];
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  const java = [...javaFlags, "-cp", join(jars, "*")];
  const storage = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", file];
  const { code, stdout, stderr } = run("java", [...java, ...storage, ...format], {});
  if (code !== 0) throw new Error(`Kafka's storage could not be formatted: ${stdout}${stderr}`);
  return SinkServer.start("java", ports.client, [...java, "kafka.Kafka", file]);
}

interface Ports {
  readonly client: number;
  readonly controller: number;
  readonly secure: number | undefined;
}

function standard({ client, controller, secure }: Ports, directory: string): readonly string[] {
  const secured = secure === undefined ? "" : `,SECURE://127.0.0.1:${secure}`;
  const listeners = `PLAINTEXT://127.0.0.1:${client}${secured}`;
  return [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@127.0.0.1:${controller}`,
    `listeners=${listeners},CONTROLLER://127.0.0.1:${controller}`,
    `advertised.listeners=${listeners}`,
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL",
    "controller.listener.names=CONTROLLER",
    "inter.broker.listener.name=PLAINTEXT",
    `log.dirs=${join(directory, "data")}`,
    "auto.create.topics.enable=false",
    // A test's topics: of one broker, and of few partitions, which are quick to make.
    "offsets.topic.replication.factor=1",
    "offsets.topic.num.partitions=1",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.num.partitions=1",
    "transaction.state.log.min.isr=1",
    "group.initial.rebalance.delay.ms=0",
    // A killed broker comes back once its controller has given the earlier one up.
    "broker.session.timeout.ms=2000",
    "broker.heartbeat.interval.ms=500",
    "num.network.threads=2",
    "num.io.threads=2",
    "log.cleaner.dedupe.buffer.size=4194304",
  ];
}
