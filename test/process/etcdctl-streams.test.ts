/**
 * What of etcdctl goes on: watches, keep-alives, locks, elections, mirrors. Each course is run against
 * a real etcd and against `pilothouse store`, and prints the same.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import {
  etcd,
  etcdctlAt,
  etcdctlPlain,
  Going,
  noEtcd,
  noEtcdctl,
  normal,
  waitMsMax,
  words,
  type Step,
} from "./etcdctl-run.ts";
import { startStore, type RunningStore } from "./store-harness.ts";

/** What one course saw, in order. */
class Course {
  readonly seen: string[] = [];
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  run(line: string): void {
    this.step(words(line));
  }

  step(step: Step): void {
    const asked = normal(step.args.join(" "), this.url);
    this.seen.push(`${asked} -> ${etcdctlAt(this.url, step)}`);
  }

  start(line: string): Going {
    return new Going(this.url, line);
  }

  see(text: string): void {
    this.seen.push(text);
  }

  get revision(): number {
    return Number(/"Revision" : (\d+)/.exec(etcdctlPlain(this.url, "get none -w fields"))?.[1]);
  }

  /** Waits until this many keys have the prefix: the others are waiting then. 3.4 has no --count-only. */
  count(prefix: string, count: number): void {
    const deadline = performance.now() + waitMsMax;
    for (let found = -1; found !== count;) {
      const told = etcdctlPlain(this.url, `get ${prefix} --prefix --keys-only -w fields`);
      found = Number(/"Count" : (\d+)/.exec(told)?.[1] ?? -1);
      assert.ok(performance.now() < deadline, `never ${count} keys under ${prefix}: ${told}`);
    }
  }
}

const courses: readonly { readonly name: string; run(c: Course): Promise<void> }[] = [
  {
    name: "watch: history of a prefix with previous values, a command for each event",
    async run(c) {
      const from = c.revision + 1;
      for (const line of ["put w/a 1", "put w/a 2", "del w/a", "put w/b 3"]) c.run(line);
      const watch = c.start(`watch w/ --prefix --prev-kv --rev=${from}`);
      c.see(await watch.lines(16));
      c.run("put w/b live");
      c.see(await watch.lines(21));
      c.see(await watch.interrupt());
      const hex = c.start(`watch w/b --hex --rev=${from}`);
      c.see(await hex.lines(6));
      await hex.interrupt();
      const each = c.start(`watch w/a w/b --rev=${from} -- printenv ETCD_WATCH_KEY`);
      c.see(await each.lines(12));
      await each.interrupt();
      const json = c.start(`watch w/b -w json --rev=${from}`);
      c.see(await json.lines(1));
      await json.interrupt();
    },
  },
  {
    name: "watch: several on one stream, interactively, and progress asked for",
    async run(c) {
      const from = c.revision + 1;
      for (const line of ["put i/a 1", "put i/b 2", "put i/a 3"]) c.run(line);
      const watch = c.start("watch -i");
      watch.say(`watch i/a --rev=${from}`);
      c.see(await watch.lines(6));
      watch.say(`watch i/ --prefix --rev=${from + 1}`);
      c.see(await watch.lines(12));
      watch.say("progress");
      // Both get the event.
      c.see(await watch.lines(14));
      c.run("put i/b 4");
      c.see(await watch.lines(17));
      c.see(await watch.interrupt());
    },
  },
  {
    name: "watch: from compacted history it ends, and says so",
    async run(c) {
      const from = c.revision + 1;
      for (const value of ["1", "2", "3"]) c.run(`put c ${value}`);
      c.run(`compaction ${from + 2} --physical`);
      c.run(`watch c --rev=${from}`);
      const watch = c.start(`watch c --rev=${from + 2}`);
      c.see(await watch.lines(3));
      c.see(await watch.interrupt());
    },
  },
  {
    name: "leases: granted, listed, kept alive, asked for with their keys, revoked",
    async run(c) {
      const id = /lease (\S+) granted/.exec(etcdctlPlain(c.url, "lease grant 600"))?.[1] ?? "";
      assert.match(id, /^[0-9a-f]+$/);
      c.run(`put leased/b 1 --lease=${id}`);
      c.run(`put leased/a 1 --lease=${id}`);
      c.run(`put leased/a 2 --ignore-lease`);
      for (const line of [`lease timetolive ${id}`, `lease timetolive ${id} --keys`]) c.run(line);
      c.run("lease list");
      c.run(`lease keep-alive ${id} --once`);
      const alive = c.start(`lease keep-alive ${id}`);
      c.see(await alive.lines(1));
      c.run(`lease revoke ${id}`);
      await alive.interrupt();
      c.run(`lease timetolive ${id} --keys`);
      c.run("lease list");
      c.run("get leased/ --prefix --keys-only");
    },
  },
  {
    name: "a lease that nobody keeps takes its keys along",
    async run(c) {
      const id = /lease (\S+) granted/.exec(etcdctlPlain(c.url, "lease grant 2"))?.[1] ?? "";
      const from = c.revision + 1;
      const watch = c.start(`watch brief --rev=${from}`);
      c.run(`put brief 1 --lease=${id}`);
      c.see(await watch.lines(6));
      c.see(await watch.interrupt());
      c.run(`lease keep-alive --once ${id}`);
    },
  },
  {
    name: "lock: the second waits for the first, and has it when that is gone",
    async run(c) {
      // Its own is 10 s: on a busy machine nobody may be heard for as long, and the lock is lost.
      const first = c.start("lock m --ttl 120");
      c.see(await first.lines(1));
      const second = c.start("lock m --ttl 150");
      c.count("m/", 2);
      c.see(await first.interrupt());
      c.see(await second.lines(1));
      c.run("get m/ --prefix --print-value-only");
      c.see(await second.interrupt());
      c.count("m/", 0);
      c.run("lock m -- printenv ETCD_LOCK_KEY");
    },
  },
  {
    name: "elect: one leads, one follows, one looks on",
    async run(c) {
      const first = c.start("elect e one");
      c.see(await first.lines(2));
      const second = c.start("elect e two");
      c.count("e/", 2);
      const observer = c.start("elect -l e");
      c.see(await observer.lines(2));
      c.see(await first.interrupt());
      c.see(await second.lines(2));
      c.see(await observer.lines(4));
      await observer.interrupt();
      c.see(await second.interrupt());
    },
  },
];

let store: RunningStore;
let oracle: TestServer | undefined;

describe("etcdctl goes on", { skip: noEtcdctl }, () => {
  before(async () => {
    store = await startStore(["--memory", "--listen", "127.0.0.1:0"]);
    oracle = etcd === undefined ? undefined : await startEtcd(etcd);
  });
  after(async () => {
    await oracle?.close();
    await store?.kill();
  });

  for (const course of courses) {
    test(course.name, { skip: noEtcd }, async () => {
      const [ours, theirs] = [new Course(store.url), new Course(oracle?.url ?? "")];
      await course.run(theirs);
      await course.run(ours);
      assert.deepEqual(ours.seen, theirs.seen);
    });
  }

  test("make-mirror: from ours to ours, from etcd to ours, from ours to etcd", async (t) => {
    const copies = [await mirror(t, store.url, "")];
    if (oracle !== undefined) {
      copies.push(await mirror(t, oracle.url, ""));
      copies.push(await mirror(t, store.url, oracle.url));
    }
    for (const copy of copies) assert.equal(copy, copies[0]);
  });

  /** Keys there before and written while it mirrors; `to` "": a store of its own. @returns what is there then. */
  async function mirror(
    t: { after(f: () => Promise<unknown>): void },
    from: string,
    to: string,
  ): Promise<string> {
    const target =
      to === "" ? await startStore(["--memory", "--listen", "127.0.0.1:0"]) : undefined;
    if (target !== undefined) t.after(() => target.kill());
    const [source, copy] = [new Course(from), new Course(target?.url ?? to)];
    source.run("del mirrored/ --prefix");
    for (let i = 0; i < 5; i++) source.run(`put mirrored/${i} before-${i}`);
    const destination = copy.url.replace("http://", "");
    const going = source.start(
      `make-mirror --prefix mirrored/ --dest-prefix copied/ --dest-insecure-transport ${destination}`,
    );
    copy.count("copied/", 5);
    source.run("put mirrored/5 meanwhile");
    source.run("del mirrored/0 mirrored/3");
    source.step(words("txn", "\nput mirrored/6 a\nput mirrored/7 b\n\n\n"));
    copy.count("copied/7", 1);
    await going.interrupt();
    return etcdctlPlain(copy.url, "get copied/ --prefix");
  }
});
