/** Finds aggregated APIs that do not answer: they stall discovery and block the deletion of namespaces. */
import { quoted, type Rule } from "../rule.ts";

export const aggregatedApis: Rule = {
  id: "aggregated-api-away",
  title: "An aggregated API does not answer",
  reads: ["apiservices"],
  threshold: "condition Available is False",
  source: "kubernetes-mixin KubeAggregatedAPIDown",
  judge: ({ objects }) =>
    objects.apiservices.flatMap((apiService) => {
      const { name } = apiService.metadata;
      const available = apiService.status?.conditions?.find(({ type }) => type === "Available");
      if (available?.status !== "False") return [];
      const service = apiService.spec?.["service"] as
        | Partial<Record<string, string>>
        | null
        | undefined;
      const target =
        service?.["name"] === undefined
          ? "its service"
          : `service ${service["namespace"] ?? ""}/${service["name"]}`;
      return [
        {
          sentence: `the aggregated API ${name} is away: ${available.message ?? available.reason ?? "no reason given"}`,
          culprit: `APIService ${name}, ${target}`,
          severity: "page",
          figures: { reason: available.reason ?? "" },
          remedy: `kubectl describe apiservice ${quoted(name)}; repair ${target}, or: kubectl delete apiservice ${quoted(name)}`,
          certainty: 1,
        },
      ];
    }),
};
