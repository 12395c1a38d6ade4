/** Finds requests that priority and fairness rejects, and the flow that they belong to. */
import { growth, seriesOf, type Evidence, type HeldRequest } from "../evidence.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

const seatShare = 0.8;

export const flows: Rule = {
  id: "flow-control",
  title: "Priority and fairness turns requests away",
  reads: [
    "apiserver_flowcontrol_rejected_requests_total",
    "apiserver_flowcontrol_current_executing_seats",
    "apiserver_flowcontrol_current_limit_seats",
    "apiserver_flowcontrol_nominal_limit_seats",
  ],
  threshold: "any rejection between two samples; more than 80 % of a level's seats in use",
  source: "upstream's flow-control documentation; EKS control plane guide",
  alerts: [
    {
      query: `sum by (priority_level, flow_schema, reason) (rate(apiserver_flowcontrol_rejected_requests_total[5m]))`,
      above: 0,
      severity: "page",
    },
    {
      query: `sum by (priority_level) (apiserver_flowcontrol_current_executing_seats{priority_level!="exempt"}) / sum by (priority_level) (apiserver_flowcontrol_nominal_limit_seats{priority_level!="exempt"})`,
      above: seatShare,
      severity: "warn",
    },
  ],
  judge: (evidence) => [...rejections(evidence), ...fullLevels(evidence)],
};

function rejections(evidence: Evidence): readonly Verdict[] {
  const by = ["priority_level", "flow_schema", "reason"];
  const grown = growth(evidence, "apiserver_flowcontrol_rejected_requests_total", by);
  return [...grown].flatMap(([key, count]): readonly Verdict[] => {
    if (!(count > 0)) return [];
    const [level = "", schema = "", reason = ""] = key.split("/");
    const user = topUser(evidence, (held) => held.schema === schema);
    return [
      {
        sentence: `priority level ${level} turned away ${count} requests of flow schema ${schema} (${reason})`,
        culprit: user === undefined ? `flow schema ${schema}` : `${user}, in flow schema ${schema}`,
        severity: "page",
        figures: { rejected: count, seconds: evidence.secondsBetween },
        remedy: `kubectl get --raw /debug/api_priority_and_fairness/dump_requests | grep ${quoted(schema)}; give that user a FlowSchema and a level of its own, and pages to its LISTs`,
        certainty: 0.9,
        ...(user === undefined ? { unseen: "the user within the flow schema" } : {}),
      },
    ];
  });
}

function fullLevels(evidence: Evidence): readonly Verdict[] {
  const limits = new Map<string, number>();
  for (const name of ["nominal", "current"]) {
    for (const { labels, value } of seriesOf(
      evidence,
      `apiserver_flowcontrol_${name}_limit_seats`,
    )) {
      limits.set(labels.get("priority_level") ?? "", value);
    }
  }
  const used = new Map<string, number>();
  for (const { labels, value } of seriesOf(
    evidence,
    "apiserver_flowcontrol_current_executing_seats",
  )) {
    const level = labels.get("priority_level") ?? "";
    used.set(level, (used.get(level) ?? 0) + value);
  }
  return [...used].flatMap(([level, seats]): readonly Verdict[] => {
    const limit = limits.get(level) ?? 0;
    // The limit of the exempt level is not enforced.
    if (level === "exempt" || !(limit > 0) || !(seats > seatShare * limit)) return [];
    const user = topUser(evidence, (held) => held.level === level);
    return [
      {
        sentence: `priority level ${level} uses ${seats} of its ${limit} seats`,
        culprit: user === undefined ? `priority level ${level}` : `${user}, in level ${level}`,
        severity: "warn",
        figures: { seats, limit },
        remedy: `kubectl get --raw /debug/api_priority_and_fairness/dump_requests | grep ${quoted(level)}`,
        certainty: 0.6,
        unseen:
          user === undefined
            ? "the user that holds the seats; one sample may be a short peak"
            : "one sample may be a short peak",
      },
    ];
  });
}

/** Returns the user with the most requests in the dump, and the kind of those requests. */
function topUser(
  { held }: Evidence,
  isCounted: (request: HeldRequest) => boolean,
): string | undefined {
  const counts = new Map<string, number>();
  for (const request of held) {
    if (request.user === "" || !isCounted(request)) continue;
    const key = `${request.user} (${request.verb} of ${request.resource})`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}
