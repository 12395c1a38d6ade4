/** `node tools/run.mjs real-controllers`: see `usage`. */
import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { closeSync, openSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { flagsOf } from "../bench/flags.ts";
import { bound } from "../process/bound-child.ts";
import {
  type CommandResult,
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  run,
  startUp,
  temporaryDirectory,
} from "../process/harness.ts";
import { freePort } from "../process/stock-apiserver.ts";
import {
  argumentsOf,
  certManager,
  definitionsOf,
  issued,
  objectsFor,
  type Program,
  programs,
  refused,
} from "./cert-manager.ts";
import { fetchModule } from "./published.ts";

const usage = `node tools/run.mjs real-controllers [--programs FOLDER]

cert-manager's webhook, controller and CA injector, built from their Go module (some minutes the first time), run beside
"pilothouse up": an authority and a certificate of it are issued, a wrong one is refused by the webhook, which is reached
through a Service. Prints each step; ends with 1 when one fails. Skips, saying why, without go, kubectl or the module.

  --programs FOLDER   where they are, built before: webhook, controller, cainjector
`;

const waitSeconds = 60;
const given = flagsOf(usage, { programs: "" }).text("programs");
const kubectlPath = findKubectl() ?? skip(noKubectl);
if (run("go", ["version"], {}).code !== 0) skip("no go on the PATH");
const address =
  hostAddress() ?? skip("no address of this host but loopback's: webhooks are not sent there");
const scratch = temporaryDirectory("real-controllers");
const fetched = fetchModule(certManager, scratch);
if ("reason" in fetched) skip(fetched.reason);
const folder = given === "" ? build(fetched.folder) : given;
const plane = await startUp(["--data-dir", join(scratch, "data"), "--port", "0", "--nodes", "0"]);
const env = kubectlEnvironment(plane.kubeconfig, scratch);
const stops: (() => void)[] = [];
let failed = 0;
try {
  await tryCertManager(fetched.folder);
} finally {
  for (const stop of stops) stop();
  await plane.stop();
  if (failed > 0) for (const program of programs) printLog(program);
  removeDirectory(scratch);
}
process.exit(failed === 0 ? 0 : 1);

async function tryCertManager(source: string): Promise<void> {
  const port = await freePort();
  step(
    "definitions applied",
    kubectl(["apply", "--server-side", "-f", "-"], definitionsOf(source)),
  );
  step("webhooks applied", kubectl(["apply", "-f", "-"], objectsFor(address, port)));
  for (const program of programs) start(program, port);
  const path = "jsonpath={.webhooks[0].clientConfig.caBundle}";
  for (const kind of ["validating", "mutating"]) {
    const wanted = [`${kind}webhookconfiguration`, "cert-manager-webhook", `--for=${path}`];
    step(`caBundle of the ${kind} webhook injected`, wait(wanted));
  }
  for (const one of issued) {
    const { kind, metadata } = one as { kind: string; metadata: { name: string } };
    step(`${kind} ${metadata.name} accepted`, await untilAccepted(one));
    step(`${kind} ${metadata.name} Ready`, wait([kind, metadata.name, "--for=condition=Ready"]));
  }
  expect("the chain of the certificate holds", isIssuedBy("leaf", "authority"));
  const requests = kubectl([
    "get",
    "certificaterequests",
    "-o",
    "jsonpath={.items[*].spec.username}",
  ]);
  expect("the webhook filled in who asked", requests.stdout.includes("admin"));
  const wrong = kubectl(["apply", "-f", "-"], JSON.stringify(refused));
  expect(`a wrong certificate refused: ${wrong.stderr.trim()}`, isRefused(wrong));
  const table = kubectl(["get", "certificates"]);
  expect(
    `printer columns: ${table.stdout.trim().replaceAll("\n", "; ")}`,
    /READY +SECRET/.test(table.stdout),
  );
  const deleted = kubectl(["delete", "certificate", "leaf", "--timeout=30s"]);
  step("a certificate deleted", deleted);
}

function isRefused({ code, stderr }: CommandResult): boolean {
  return (
    code !== 0 && stderr.includes('admission webhook "webhook.cert-manager.io" denied the request')
  );
}

/** The webhook answers some time after its authority was injected: until then the server refuses. */
async function untilAccepted(object: object): Promise<CommandResult> {
  const input = JSON.stringify(object);
  const startMs = performance.now();
  for (;;) {
    const result = kubectl(["apply", "-f", "-"], input);
    const isOver = performance.now() - startMs > waitSeconds * 1000;
    if (result.code === 0 || isOver || !result.stderr.includes("failed calling webhook"))
      return result;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function isIssuedBy(leaf: string, authority: string): boolean {
  return certificateOf(leaf).verify(certificateOf(authority).publicKey);
}

function certificateOf(secret: string): X509Certificate {
  const read = ["get", "secret", secret, "-o", "jsonpath={.data.tls\\.crt}"];
  return new X509Certificate(Buffer.from(kubectl(read).stdout, "base64"));
}

function start(program: Program, port: number): void {
  const log = openSync(logOf(program), "a");
  const args = argumentsOf(program, plane.kubeconfig, port);
  const options = { cwd: scratch, env: { ...env, POD_NAMESPACE: "cert-manager" } };
  const child = bound(
    spawn(join(folder, program), args, { ...options, stdio: ["ignore", log, log] }),
  );
  closeSync(log);
  stops.push(() => child.kill("SIGKILL"));
}

function build(source: string): string {
  const out = join(scratch, "programs");
  for (const program of programs) {
    console.log(`building ${program}`);
    const args = ["build", "-C", source, "-o", join(out, program), `./cmd/${program}`];
    const { code, stderr } = run("nice", ["-n", "10", "go", ...args], {});
    if (code !== 0) skip(`${program} was not built: ${stderr.slice(-500)}`);
  }
  return out;
}

/** Of the host, where the webhook listens: a slice may not name loopback. */
function hostAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flat()
    .find((one) => one !== undefined && one.family === "IPv4" && !one.internal)?.address;
}

function wait(what: readonly string[]): CommandResult {
  return kubectl(["wait", `--timeout=${waitSeconds}s`, ...what]);
}

function step(what: string, { code, stderr }: CommandResult): void {
  expect(code === 0 ? what : `${what}: ${stderr.trim()}`, code === 0);
}

function expect(what: string, holds: boolean): void {
  console.log(`${holds ? "holds" : "FAILS"}  ${what}`);
  if (!holds) failed++;
}

function kubectl(args: readonly string[], input?: string): CommandResult {
  return run(kubectlPath, args, { env, ...(input === undefined ? {} : { input }) });
}

function logOf(program: Program): string {
  return join(scratch, `${program}.log`);
}

function printLog(program: Program): void {
  console.log(`${program}:\n${readFileSync(logOf(program), "utf8").slice(-3_000)}`);
}

function skip(reason: string): never {
  console.log(`skipped: ${reason}`);
  process.exit(0);
}
