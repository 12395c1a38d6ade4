/** Finds callers in the audit log that list whole kinds repeatedly or write very much. */
import type { Call, Evidence } from "../evidence.ts";
import { callerName, kindOf, quoted, type Rule, type Verdict } from "../rule.ts";

const listsMin = 50;
const writesPerSecond = 50;

export const callers: Rule = {
  id: "greedy-caller",
  title: "One client asks for very much",
  reads: ["audit log"],
  threshold:
    "one client: 50 lists of a resource without a limit and not from the cache; 50 writes of a resource a second",
  source: "EKS control plane guide: the top listers without pages; etcd's writes a second",
  judge: ({ audit }) =>
    audit === undefined
      ? []
      : audit.calls.flatMap((call) => [...lists(call, audit), ...writes(call, audit)]),
};

type Log = NonNullable<Evidence["audit"]>;

function lists(call: Call, { seconds }: Log): readonly Verdict[] {
  if (call.kind !== "list-whole" || !(call.count >= listsMin)) return [];
  const kind = kindOf(call.group, call.resource);
  return [
    {
      sentence: `${callerName(call)} listed all of ${kind} ${call.count} times in ${Math.round(seconds)} s`,
      culprit: callerName(call),
      severity: "warn",
      figures: { lists: call.count, seconds: Math.round(seconds) },
      remedy:
        "give that client an informer, or limit=500 and resourceVersion=0; until then a FlowSchema and a level of its own",
      certainty: 0.9,
    },
  ];
}

function writes(call: Call, { seconds }: Log): readonly Verdict[] {
  const perSecond = Math.round(call.count / seconds);
  if (call.kind !== "write" || call.count < listsMin || !(perSecond >= writesPerSecond)) return [];
  const kind = kindOf(call.group, call.resource);
  return [
    {
      sentence: `${callerName(call)} writes ${kind} ${perSecond} times a second`,
      culprit: callerName(call),
      severity: "warn",
      figures: { writes: call.count, perSecond },
      remedy: `let that client write what changed only; until then a FlowSchema and a level of its own for user ${quoted(call.user)}`,
      certainty: 0.8,
    },
  ];
}
