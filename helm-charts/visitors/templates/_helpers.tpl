{{/*
The chart's name, as labels show it.
*/}}
{{- define "visitors.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
First part of every object's name: the release's name. Helm's usual RELEASE-CHART, shortened where the release has the
chart's name in it, would give the sites `a` and `a-visitors` of one namespace the same names.
The longest suffix is "-backend-migrate", and a label takes 63 characters. A name that must be cut, or has
a dot, which a Service must not, ends in a hash, so that two releases whose names look alike stay apart.
*/}}
{{- define "visitors.fullname" -}}
{{- $name := default .Release.Name .Values.fullnameOverride }}
{{- if or (gt (len $name) 47) (contains "." $name) }}
{{- $name = printf "%s-%s" (replace "." "-" $name | trunc 38 | trimSuffix "-") (sha256sum $name | trunc 8) }}
{{- end }}
{{- $name }}
{{- end }}

{{/*
Name and version of the chart, as the label helm.sh/chart has it.
*/}}
{{- define "visitors.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
Labels of an object. Takes a dict: context (the root), component (optional). What the user gives wins over all but
the labels that select.
*/}}
{{- define "visitors.labels" -}}
{{- $own := dict
  "helm.sh/chart" (include "visitors.chart" .context)
  "app.kubernetes.io/version" .context.Chart.AppVersion
  "app.kubernetes.io/part-of" (include "visitors.name" .context)
  "app.kubernetes.io/managed-by" .context.Release.Service
}}
{{- $labels := include "visitors.podLabels" . | fromYaml }}
{{- merge $labels $own | toYaml }}
{{- end }}

{{/*
Labels of a pod: nothing that a new version of the chart would change, or every upgrade would restart every pod.
*/}}
{{- define "visitors.podLabels" -}}
{{- $selector := include "visitors.selectorLabels" . | fromYaml }}
{{- $given := tpl (toYaml .context.Values.commonLabels) .context | fromYaml }}
{{- merge $selector $given | toYaml }}
{{- end }}

{{/*
Labels that select the pods of a component; they never change in a release. Takes a dict: context, component.
*/}}
{{- define "visitors.selectorLabels" -}}
app.kubernetes.io/name: {{ include "visitors.name" .context }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/*
Field `annotations` with what the user gives, template expressions included; nothing where none is given. Takes a
dict: context, annotations.
*/}}
{{- define "visitors.annotations" -}}
{{- with .annotations -}}
annotations:
  {{- tpl (toYaml .) $.context | nindent 2 }}
{{- end }}
{{- end }}

{{- define "visitors.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (printf "%s-visitors" (include "visitors.fullname" .)) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/*
Reference of an image. Takes a dict: context, image.
*/}}
{{- define "visitors.image" -}}
{{- $registry := .context.Values.global.imageRegistry | default .image.registry }}
{{- $repository := join "/" (compact (list $registry .image.repository)) }}
{{- if .image.digest }}
{{- printf "%s@%s" $repository .image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (toString .image.tag) }}
{{- end }}
{{- end }}

{{/*
Parts of a pod's spec that depend on the component's values alone. Takes a dict: context, component.
*/}}
{{- define "visitors.podSpec" -}}
{{- $values := index .context.Values .component -}}
serviceAccountName: {{ include "visitors.serviceAccountName" .context }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .context.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  {{- $own := dict "labelSelector" (dict "matchLabels" (include "visitors.selectorLabels" $ | fromYaml)) }}
  - {{- merge (deepCopy .) $own | toYaml | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}

{{/*
The database as the backend sees it, as YAML: host, port, database, username, secretName, secretKey.
*/}}
{{- define "visitors.database" -}}
{{- if .Values.database.enabled -}}
{{- $mysql := .Subcharts.database -}}
host: {{ include "mysql.fullname" $mysql }}
port: {{ $mysql.Values.service.port }}
database: {{ $mysql.Values.auth.database | quote }}
username: {{ $mysql.Values.auth.username | quote }}
secretName: {{ include "mysql.secretName" $mysql }}
secretKey: {{ include "mysql.passwordKey" $mysql }}
{{- else -}}
{{- $external := .Values.externalDatabase -}}
host: {{ required "externalDatabase.host is required while database.enabled is false" $external.host | quote }}
port: {{ $external.port }}
database: {{ $external.database | quote }}
username: {{ $external.username | quote }}
{{- if $external.existingSecret }}
secretName: {{ $external.existingSecret | quote }}
secretKey: {{ $external.existingSecretKey | quote }}
{{- else if $external.password }}
secretName: {{ include "visitors.fullname" . }}-database
secretKey: password
{{- else }}
{{- fail "externalDatabase needs a password or an existingSecret while database.enabled is false" }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Environment of everything that talks to the database: the backend and its migration.
*/}}
{{- define "visitors.databaseEnv" -}}
{{- $database := include "visitors.database" . | fromYaml -}}
- name: DATABASE_HOST
  value: {{ $database.host | quote }}
- name: DATABASE_PORT
  value: {{ $database.port | int | quote }}
- name: DATABASE_NAME
  value: {{ $database.database | quote }}
- name: DATABASE_USER
  value: {{ $database.username | quote }}
- name: DATABASE_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ $database.secretName }}
      key: {{ $database.secretKey }}
{{- end }}

{{/*
Container that creates the table of visits. Takes the root.
*/}}
{{- define "visitors.migrationContainer" -}}
- name: migrate
  image: {{ include "visitors.image" (dict "context" . "image" .Values.backend.image) }}
  imagePullPolicy: {{ .Values.backend.image.pullPolicy }}
  command: ["php", "/app/index.php", "migrate"]
  env:
    {{- include "visitors.databaseEnv" . | nindent 4 }}
    - name: MIGRATION_TIMEOUT
      value: {{ .Values.backend.migration.timeoutSeconds | int | quote }}
  {{- with .Values.backend.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.backend.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: app
      mountPath: /app
      readOnly: true
{{- end }}
