/**
 * The KubeControllerManagerConfiguration (v1alpha1) in effect, as /configz shows it. Parts whose settings have no effect
 * here are left out. Upstream's types have no JSON names there, so fields are spelled as Go spells them.
 */
import { connectionConfigz, durationText, electionConfigz } from "../shared/configz.ts";
import type { ControllerManagerFlags } from "./flags.ts";

const group = "kubecontrollermanager.config.k8s.io";

type Fields = Readonly<Record<string, unknown>>;

export function controllerManagerConfigz(flags: ControllerManagerFlags): Fields {
  const configuration = {
    kind: "KubeControllerManagerConfiguration",
    apiVersion: `${group}/v1alpha1`,
    Generic: {
      ClientConnection: connectionConfigz(flags),
      LeaderElection: electionConfigz(flags),
      Controllers: flags.controllers,
    },
    KubeCloudShared: {
      UseServiceAccountCredentials: flags.useServiceAccountCredentials,
      NodeMonitorPeriod: durationText(flags.nodeMonitorPeriod),
    },
    HPAController: autoscaling(flags),
    LegacySATokenCleaner: {
      CleanUpPeriod: durationText(flags.legacyServiceAccountTokenCleanUpPeriod),
    },
    NodeLifecycleController: {
      NodeEvictionRate: flags.nodeEvictionRate,
      SecondaryNodeEvictionRate: flags.secondaryNodeEvictionRate,
      NodeStartupGracePeriod: durationText(flags.nodeStartupGracePeriod),
      NodeMonitorGracePeriod: durationText(flags.nodeMonitorGracePeriod),
      LargeClusterSizeThreshold: flags.largeClusterSizeThreshold,
      UnhealthyZoneThreshold: flags.unhealthyZoneThreshold,
    },
    PodGCController: { TerminatedPodGCThreshold: flags.terminatedPodGcThreshold },
    // The document shows the path of the key and never the key.
    SAController: { ServiceAccountKeyFile: flags.serviceAccountPrivateKeyFile ?? "" },
  };
  return { [group]: configuration };
}

function autoscaling(flags: ControllerManagerFlags): Fields {
  return {
    HorizontalPodAutoscalerSyncPeriod: durationText(flags.horizontalPodAutoscalerSyncPeriod),
    HorizontalPodAutoscalerDownscaleStabilizationWindow: durationText(
      flags.horizontalPodAutoscalerDownscaleStabilization,
    ),
    HorizontalPodAutoscalerTolerance: flags.horizontalPodAutoscalerTolerance,
    HorizontalPodAutoscalerCPUInitializationPeriod: durationText(
      flags.horizontalPodAutoscalerCpuInitializationPeriod,
    ),
    HorizontalPodAutoscalerInitialReadinessDelay: durationText(
      flags.horizontalPodAutoscalerInitialReadinessDelay,
    ),
  };
}
