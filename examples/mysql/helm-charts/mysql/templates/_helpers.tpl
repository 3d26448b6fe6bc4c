{{/*
Name of all objects. Kubernetes appends 11 characters to a StatefulSet's name in a label.
*/}}
{{- define "mysql.name" -}}
{{- replace "." "-" .Release.Name | trunc 38 | trimSuffix "-" }}
{{- end }}

{{- define "mysql.version" -}}
{{- .Values.version | default .Chart.AppVersion }}
{{- end }}

{{- define "mysql.selectorLabels" -}}
app.kubernetes.io/name: mysql
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mysql.labels" -}}
{{ include "mysql.selectorLabels" . }}
app.kubernetes.io/version: {{ include "mysql.version" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/*
Where the server answers. In maintenance that is another port than clients know, and no Service has it.
*/}}
{{- define "mysql.port" -}}
{{- ternary 3307 3306 .Values.maintenance }}
{{- end }}

{{- define "mysql.backupClaim" -}}
{{- .Values.backup.claim | default (printf "%s-backups" (include "mysql.name" .)) }}
{{- end }}

{{- define "mysql.passwordSecret" -}}
{{- .Values.passwordSecret | default (printf "%s-passwords" .Release.Name) }}
{{- end }}

{{- define "mysql.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 999
  runAsGroup: 999
  fsGroup: 999
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/*
What the server and the Jobs of procedures have in common: the image and the scripts.
*/}}
{{- define "mysql.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (include "mysql.version" .) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "mysql.mounts" -}}
- {name: scripts, mountPath: /scripts, readOnly: true}
- {name: passwords, mountPath: /run/secrets/mysql, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "mysql.volumes" -}}
- {name: scripts, configMap: {name: {{ include "mysql.name" . }}-scripts}}
- name: passwords
  secret:
    secretName: {{ include "mysql.passwordSecret" . | quote }}
    items: [{key: password, path: password}, {key: rootPassword, path: root-password}]
- {name: tmp, emptyDir: {}}
{{- end }}

{{/*
A Job of a procedure: mysql.job (dict "root" . "run" (list "backup.sh" "7")), with more of the environment in `environment`.
*/}}
{{- define "mysql.job" -}}
{{- $root := .root -}}
apiVersion: batch/v1
kind: Job
metadata:
  # The operator makes one of its own of it.
  name: {{ include "mysql.name" $root }}-{{ $root.Procedure.name }}
  labels:
    {{- include "mysql.labels" $root | nindent 4 }}
spec:
  # What is tried again is for the procedure to say.
  backoffLimit: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: mysql-{{ $root.Procedure.name }}
        app.kubernetes.io/instance: {{ $root.Release.Name }}
    spec:
      restartPolicy: Never
      {{- include "mysql.pod" $root | nindent 6 }}
      containers:
        - name: {{ $root.Procedure.name }}
          {{- include "mysql.container" $root | nindent 10 }}
          terminationMessagePolicy: FallbackToLogsOnError
          command:
            - sh
            - /scripts/{{ first .run }}
            {{- range rest .run }}
            - {{ . | quote }}
            {{- end }}
          env:
            - {name: SERVER, value: {{ include "mysql.name" $root | quote }}}
            - {name: HOST, value: {{ printf "%s-0.%s-server.%s.svc" (include "mysql.name" $root) (include "mysql.name" $root) $root.Release.Namespace }}}
            - {name: PORT, value: {{ include "mysql.port" $root | quote }}}
            - {name: DATABASE, value: {{ $root.Values.database | quote }}}
            - {name: RUN, value: {{ $root.Procedure.id | quote }}}
            {{- range $name, $value := .environment }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
          volumeMounts:
            {{- include "mysql.mounts" $root | nindent 12 }}
            - {name: backups, mountPath: /backups}
      volumes:
        {{- include "mysql.volumes" $root | nindent 8 }}
        - {name: backups, persistentVolumeClaim: {claimName: {{ include "mysql.backupClaim" $root | quote }}}}
{{- end }}
