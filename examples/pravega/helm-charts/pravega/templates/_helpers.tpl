{{/*
Name of a part's objects: pravega.name (list . "bookie"). Kubernetes appends 11 characters to a StatefulSet's name in a label.
*/}}
{{- define "pravega.name" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s" (replace "." "-" $root.Release.Name | trunc 38 | trimSuffix "-") (index . 1) }}
{{- end }}

{{- define "pravega.version" -}}
{{- .Values.version | default .Chart.AppVersion }}
{{- end }}

{{- define "pravega.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: pravega
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "pravega.labels" -}}
{{- $root := index . 0 -}}
{{ include "pravega.selectorLabels" . }}
app.kubernetes.io/version: {{ include "pravega.version" $root | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{- end }}

{{- define "pravega.image" -}}
{{- $root := index . 0 -}}
{{- printf "%s/%s:%s" $root.Values.image.registry (index . 1) (include "pravega.version" $root) }}
{{- end }}

{{/*
Where the ZookeeperCluster answers, as its operator says; where there is no cluster to ask, its Service.
*/}}
{{- define "pravega.zookeeper" -}}
{{- $name := .Values.zookeeper.name }}
{{- $found := lookup "zookeeper.pravega.io/v1beta1" "ZookeeperCluster" .Release.Namespace $name }}
{{- dig "status" "internalClientEndpoint" (printf "%s-client:2181" $name) $found }}
{{- end }}

{{/*
What all pods have: pravega.pod (list . "bookie").
*/}}
{{- define "pravega.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "pravega.selectorLabels" . | nindent 8 }}
{{- end }}

{{/*
What all containers have: pravega.container (list . "bookie" .Values.bookkeeper 3181).
*/}}
{{- define "pravega.container" -}}
{{- $root := index . 0 -}}
{{- $part := index . 2 -}}
name: {{ index . 1 }}
image: {{ include "pravega.image" (list $root $part.image) | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
ports:
  - name: {{ index . 1 }}
    containerPort: {{ index . 3 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
readinessProbe:
  tcpSocket: {port: {{ index . 1 }}}
  periodSeconds: 2
resources:
  {{- toYaml $part.resources | nindent 2 }}
env:
  - name: ZK_URL
    value: {{ include "pravega.zookeeper" $root | quote }}
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end }}
