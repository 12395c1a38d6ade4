{{- define "pilothouse.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "pilothouse.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels that select: they never change. Called with (dict "root" $ "part" "relay"). */}}
{{- define "pilothouse.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "pilothouse.labels" -}}
{{ include "pilothouse.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* No root, no writable disk, no capability: as the restricted level of Pod Security asks. */}}
{{- define "pilothouse.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "pilothouse.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Two replicas are not to be lost with one node. */}}
{{- define "pilothouse.spread" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "pilothouse.selector" . | nindent 12 }}
    - weight: 50
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        labelSelector:
          matchLabels:
            {{- include "pilothouse.selector" . | nindent 12 }}
{{- end }}

{{/* The group of "v1/pods" is "", that of "apps/v1/deployments" is apps. */}}
{{- define "pilothouse.readRule" -}}
{{- $parts := splitList "/" . -}}
- apiGroups: [{{ if gt (len $parts) 2 }}{{ first $parts }}{{ else }}""{{ end }}]
  resources: [{{ last $parts }}]
  verbs: [list, watch]
{{- end }}

{{- define "pilothouse.relayTlsSecret" -}}
{{ .Values.relay.tls.secretName | default (printf "%s-relay-tls" (include "pilothouse.name" .)) }}
{{- end }}
