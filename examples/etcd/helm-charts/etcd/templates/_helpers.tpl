{{/*
Name of all objects. Kubernetes appends 11 characters to a StatefulSet's name in a label.
*/}}
{{- define "etcd.name" -}}
{{- replace "." "-" .Release.Name | trunc 38 | trimSuffix "-" }}
{{- end }}

{{- define "etcd.version" -}}
{{- .Values.version | default .Chart.AppVersion }}
{{- end }}

{{- define "etcd.selectorLabels" -}}
app.kubernetes.io/name: etcd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "etcd.labels" -}}
{{ include "etcd.selectorLabels" . }}
app.kubernetes.io/version: {{ include "etcd.version" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/*
How many members run.
*/}}
{{- define "etcd.replicas" -}}
{{- dig .Values.maintenance (int .Values.size) (dict "stopped" 0 "first" 1) }}
{{- end }}

{{- define "etcd.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "etcd.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/*
What runs scripts.
*/}}
{{- define "etcd.tools" -}}
image: {{ printf "%s:v%s" .Values.image.tools (include "etcd.version" .) | quote }}
{{ include "etcd.container" . }}
terminationMessagePolicy: FallbackToLogsOnError
{{- end }}

{{/*
Where the members are: etcd.toolsEnvironment (list . 3), with the number of those that are asked.
*/}}
{{- define "etcd.toolsEnvironment" -}}
{{- $root := index . 0 -}}
- {name: SET, value: {{ include "etcd.name" $root | quote }}}
- {name: DOMAIN, value: {{ printf "%s.%s.svc" (include "etcd.name" $root) $root.Release.Namespace | quote }}}
- {name: CLIENT, value: {{ ternary "https" "http" (not (empty $root.Values.tls.client)) }}}
- {name: PEER, value: {{ ternary "https" "http" (not (empty $root.Values.tls.peer)) }}}
- {name: MEMBERS, value: {{ index . 1 | quote }}}
{{- if $root.Values.tls.client }}
- {name: ETCDCTL_CACERT, value: /tls/client/ca.crt}
- {name: ETCDCTL_CERT, value: /tls/client/tls.crt}
- {name: ETCDCTL_KEY, value: /tls/client/tls.key}
{{- end }}
{{- end }}

{{- define "etcd.toolsMounts" -}}
- {name: scripts, mountPath: /scripts, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .Values.tls.client }}
- {name: tls-client, mountPath: /tls/client, readOnly: true}
{{- end }}
{{- end }}

{{- define "etcd.toolsVolumes" -}}
- {name: scripts, configMap: {name: {{ include "etcd.name" . }}-scripts}}
- {name: tmp, emptyDir: {}}
{{- with .Values.tls.client }}
- {name: tls-client, secret: {secretName: {{ . | quote }}, defaultMode: 0440}}
{{- end }}
{{- end }}

{{/*
A Job of a procedure: etcd.job (dict "root" . "run" (list "backup.sh" "3")), with `environment` and `claims`, a claim for each path.
*/}}
{{- define "etcd.job" -}}
{{- $root := .root -}}
apiVersion: batch/v1
kind: Job
metadata:
  # Each is made by a name of its own.
  name: {{ $root.Procedure.name }}
  labels:
    {{- include "etcd.labels" $root | nindent 4 }}
spec:
  # What is tried again is for the procedure to say.
  backoffLimit: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: etcd-{{ $root.Procedure.name }}
        app.kubernetes.io/instance: {{ $root.Release.Name }}
    spec:
      restartPolicy: Never
      {{- include "etcd.pod" $root | nindent 6 }}
      containers:
        - name: {{ $root.Procedure.name }}
          {{- include "etcd.tools" $root | nindent 10 }}
          command:
            - sh
            - /scripts/{{ first .run }}
            {{- range rest .run }}
            - {{ . | quote }}
            {{- end }}
          env:
            {{- include "etcd.toolsEnvironment" (list $root (int $root.Values.size)) | nindent 12 }}
            {{- range $name, $value := .environment }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
          volumeMounts:
            {{- include "etcd.toolsMounts" $root | nindent 12 }}
            {{- range $path, $claim := .claims }}
            - {name: {{ $path }}, mountPath: /{{ $path }}}
            {{- end }}
      volumes:
        {{- include "etcd.toolsVolumes" $root | nindent 8 }}
        {{- range $path, $claim := .claims }}
        - {name: {{ $path }}, persistentVolumeClaim: {claimName: {{ $claim | quote }}}}
        {{- end }}
{{- end }}

{{- define "etcd.backupClaim" -}}
{{- .Values.backup.claim | default (printf "%s-backups" (include "etcd.name" .)) }}
{{- end }}
