{{- define "darkroom.fullname" -}}
{{- contains "darkroom" .Release.Name | ternary .Release.Name (printf "%s-darkroom" .Release.Name) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "darkroom.selector" -}}
app.kubernetes.io/name: darkroom
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "darkroom.labels" -}}
{{ include "darkroom.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "darkroom.metadata" -}}
name: {{ include "darkroom.fullname" .root }}-{{ .component }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "darkroom.labels" . | nindent 2 }}
{{- end }}

{{- define "darkroom.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "darkroom.fullname" .) "default") }}
{{- end }}

{{- /* The longest call of a worker: of the channels, whose timeoutSeconds is 600 unless it is named. */}}
{{- define "darkroom.longestTimeout" -}}
{{- if .Values.existingConfigMap }}{{ .Values.longestTimeoutSeconds }}
{{- else }}
{{- $longest := 0 }}
{{- range .Values.config.channels }}{{ $longest = max $longest (ceil (.timeoutSeconds | default 600)) }}{{ end }}
{{- $longest }}
{{- end }}
{{- end }}

{{- /* What every pod has. The fields of .values are the component's. */}}
{{- define "darkroom.pod" -}}
serviceAccountName: {{ .serviceAccount | default (include "darkroom.serviceAccount" .root) }}
automountServiceAccountToken: false
# Kubernetes would set ADMIN_PORT to tcp://… for a Service called `admin`.
enableServiceLinks: false
# The first process of a container never gets a signal before it listens for it, and Node takes a moment to begin. So the
# first one is the pod's own, and a pod that is stopped while it starts does not wait for its whole grace.
shareProcessNamespace: true
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "darkroom.spread" -}}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "darkroom.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}

{{- define "darkroom.container" -}}
{{- $image := .root.Values.image -}}
{{- $tag := .values.tag | default $image.tag | default .root.Chart.AppVersion -}}
image: {{ $image.repository }}{{ if and $image.digest (not .values.tag) }}@{{ $image.digest }}{{ else }}:{{ $tag }}{{ end }}
imagePullPolicy: {{ $image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{- toYaml .values.resources | nindent 2 }}
{{- end }}

{{- define "darkroom.probes" -}}
{{- /* Darkroom answers within 1.5 s for each part, so 4 s tell a slow part from a dead process. */ -}}
startupProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 2
  timeoutSeconds: 4
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 4
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 2
  timeoutSeconds: 4
  failureThreshold: 2
{{- end }}

{{- /* One variable from a key of a Secret. */}}
{{- define "darkroom.fromSecret" -}}
- name: {{ .name }}
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: {{ .key }} } }
{{- end }}

{{- define "darkroom.temporal" -}}
{{- with .Values.temporal -}}
- name: TEMPORAL_ADDRESS
  value: {{ required "temporal.address is not set: HOST:PORT of Temporal" .address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .namespace | quote }}
{{- if .tls }}
- name: TEMPORAL_TLS
  value: 'true'
{{- end }}
{{- with .tlsServerName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ . | quote }}
{{- end }}
{{- range $name, $key := dict "TEMPORAL_API_KEY" .apiKeyKey "TEMPORAL_TLS_SERVER_CA_CERT_DATA" .caKey "TEMPORAL_TLS_CLIENT_CERT_DATA" .certificateKey "TEMPORAL_TLS_CLIENT_KEY_DATA" .privateKeyKey }}
{{- if $key }}
{{- $secret := required "temporal.existingSecret is not set: the Secret of its keys" $.Values.temporal.existingSecret }}
{{ include "darkroom.fromSecret" (dict "name" $name "secret" $secret "key" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "darkroom.settings" -}}
- name: NODE_ENV
  value: production
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* The variables that API, worker and admin share, and the secrets of .secrets: pairs of a variable and a key. */}}
{{- define "darkroom.env" -}}
{{- $values := .root.Values -}}
{{ include "darkroom.settings" .root }}
- name: PUBLIC_URL
  value: {{ required "publicUrl is not set: the address that clients reach" $values.publicUrl | quote }}
- name: SYNC_DEADLINE_SECONDS
  value: {{ $values.syncDeadlineSeconds | quote }}
- name: INTERNAL_HOST
  value: 0.0.0.0
- name: DARKROOM_CONFIG
  value: /etc/darkroom/config.json
{{ include "darkroom.fromSecret" (dict "name" "DATABASE_URL" "secret" $values.database.existingSecret "key" $values.database.urlKey) }}
{{- with $values.database.sessionUrlKey }}
{{ include "darkroom.fromSecret" (dict "name" "DATABASE_SESSION_URL" "secret" $values.database.existingSecret "key" .) }}
{{- end }}
{{ include "darkroom.temporal" .root }}
{{- with $values.blobStore }}
- name: BLOB_STORE
  value: {{ required "blobStore.url is not set: s3://bucket/prefix" .url | quote }}
- name: AWS_REGION
  value: {{ .region | quote }}
{{- with .endpoint }}
- name: AWS_ENDPOINT_URL_S3
  value: {{ . | quote }}
{{- end }}
{{- if .existingSecret }}
{{ include "darkroom.fromSecret" (dict "name" "AWS_ACCESS_KEY_ID" "secret" .existingSecret "key" .accessKeyIdKey) }}
{{ include "darkroom.fromSecret" (dict "name" "AWS_SECRET_ACCESS_KEY" "secret" .existingSecret "key" .secretAccessKeyKey) }}
{{- end }}
{{- end }}
{{- range $name, $key := .secrets }}
{{ include "darkroom.fromSecret" (dict "name" $name "secret" $values.secrets.existingSecret "key" $key) }}
{{- end }}
{{- end }}

{{- define "darkroom.credentials" -}}
{{- with .Values.credentials.existingSecret -}}
envFrom:
  - secretRef: { name: {{ . }} }
{{- end }}
{{- end }}

{{- define "darkroom.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: config, mountPath: /etc/darkroom, readOnly: true }
{{- end }}

{{- define "darkroom.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 1Gi }
- name: config
  configMap: { name: {{ .Values.existingConfigMap | default (printf "%s-config" (include "darkroom.fullname" .)) }} }
{{- end }}

{{- define "darkroom.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "darkroom.metadata" . | nindent 2 }}
spec:
  # One at a time, and what is not ready anyhow: so it never blocks a drain.
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "darkroom.selector" . | nindent 6 }}
{{- end }}

{{- define "darkroom.autoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{- include "darkroom.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "darkroom.fullname" .root }}-{{ .component }} }
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ .values.autoscaling.targetCpuPercent }} } }
  behavior:
    scaleDown:
      # Not before those that stop have had their time.
      stabilizationWindowSeconds: {{ min 3600 (max 300 (int .graceSeconds)) }}
      policies: [{ type: Pods, value: 1, periodSeconds: 60 }]
{{- end }}
