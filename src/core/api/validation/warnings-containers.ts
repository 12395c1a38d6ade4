/** Warnings about container variables and ports. */
import type { Fields } from "./fields.ts";
import { has, items, number, text } from "./fields.ts";
import { child, index } from "./errors.ts";

interface Placed {
  readonly container: Fields;
  readonly path: string;
}

interface Port extends Placed {
  readonly port: Fields;
}

export function hiddenVariables(container: Fields, path: string): readonly string[] {
  const out: string[] = [];
  const seen = new Set<string>();
  items(container, "env").forEach((variable, at) => {
    const name = text(variable, "name");
    if (seen.has(name) && !buildsOnFirst(variable, name)) {
      const here = index(child(path, "env"), at);
      const what = `hides previous definition of ${JSON.stringify(name)}`;
      out.push(`${here}: ${what}, which may be dropped when using apply`);
    }
    seen.add(name);
  });
  return out;
}

/** A second value that refers to the first is intentional. */
function buildsOnFirst(variable: Fields, name: string): boolean {
  const value = text(variable, "value");
  const reference = `$(${name})`;
  return !has(variable, "valueFrom") && value !== reference && value.includes(reference);
}

function portsOf(containers: readonly Placed[]): readonly Port[] {
  return containers.flatMap(({ container, path }) =>
    items(container, "ports").map((port, at) => ({
      container,
      port,
      path: index(child(path, "ports"), at),
    })),
  );
}

/** Port conflicts within a pod. At most `comparisonsMax` pairs are compared. */
export function portWarnings(containers: readonly Placed[]): readonly string[] {
  const out: string[] = [];
  const byNumber = new Map<string, Port[]>();
  let left = comparisonsMax;
  for (const each of portsOf(containers)) {
    const { port, path } = each;
    if (text(port, "hostIP") !== "" && number(port, "hostPort") === 0) {
      out.push(`${path}: hostIP set without hostPort: ${printPort(port)}`);
    }
    const name = `${number(port, "containerPort")}/${text(port, "protocol")}`;
    const others = byNumber.get(name) ?? [];
    for (const other of others) {
      if (left-- <= 0) return out;
      const how = collision(port, other.port);
      if (how !== undefined) out.push(`${path}: ${how} port definition with ${other.path}`);
    }
    others.push(each);
    byNumber.set(name, others);
  }
  return out;
}

/** The port as Go prints the struct. */
function printPort(port: Fields): string {
  const [name, protocol, ip] = ["name", "protocol", "hostIP"].map((field) => text(port, field));
  const [host, container] = ["hostPort", "containerPort"].map((field) => number(port, field));
  return `{Name:${name} HostPort:${host} ContainerPort:${container} Protocol:${protocol} HostIP:${ip}}`;
}

/** 10,000 ports with the same number have 50 million pairs. */
const comparisonsMax = 10_000;

function collision(port: Fields, other: Fields): string | undefined {
  const [hostPort, otherHostPort] = [number(port, "hostPort"), number(other, "hostPort")];
  const [ip, otherIp] = [text(port, "hostIP"), text(other, "hostIP")];
  if (ip === otherIp && hostPort === otherHostPort) return "duplicate";
  if (hostPort === 0 || otherHostPort === 0) return "overlapping";
  const isOpen = (ip === "") !== (otherIp === "");
  return hostPort === otherHostPort && isOpen ? "dangerously ambiguous" : undefined;
}

export function portNameWarnings(containers: readonly Placed[]): readonly string[] {
  const out: string[] = [];
  const owners = new Map<string, string>();
  for (const { port, path } of portsOf(containers)) {
    const name = text(port, "name");
    if (name === "") continue;
    const owner = owners.get(name);
    if (owner === undefined) owners.set(name, path);
    else {
      const what = `duplicate port name ${JSON.stringify(name)} with ${owner}`;
      out.push(`${path}: ${what}, services and probes that select ports by name will use ${owner}`);
    }
  }
  return out;
}
