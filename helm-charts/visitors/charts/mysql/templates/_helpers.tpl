{{/*
Name of the software, as labels show it. Not the chart's name: an alias in a parent chart changes that.
*/}}
{{- define "mysql.name" -}}
{{- default "mysql" .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
Name of every object. Kubernetes appends 11 characters to a StatefulSet's name in a label, so 52 are left. A name that
must be cut, or has a dot, which a Service must not, ends in a hash, so that two releases whose names look alike stay
apart.
*/}}
{{- define "mysql.fullname" -}}
{{- $name := .Values.fullnameOverride | default (printf "%s-%s" .Release.Name (include "mysql.name" .)) }}
{{- if or (gt (len $name) 52) (contains "." $name) }}
{{- $name = printf "%s-%s" (replace "." "-" $name | trunc 43 | trimSuffix "-") (sha256sum $name | trunc 8) }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "mysql.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "mysql.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "mysql.selectorLabels" -}}
app.kubernetes.io/name: {{ include "mysql.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: database
{{- end }}

{{- define "mysql.image" -}}
{{- $registry := .Values.global.imageRegistry | default .Values.image.registry }}
{{- $repository := join "/" (compact (list $registry .Values.image.repository)) }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (toString .Values.image.tag) }}
{{- end }}
{{- end }}

{{/*
Secret with the passwords, and the key of the user's password: what a parent chart needs to connect.
*/}}
{{- define "mysql.secretName" -}}
{{- .Values.auth.existingSecret | default (include "mysql.fullname" .) }}
{{- end }}

{{- define "mysql.passwordKey" -}}
{{- .Values.auth.passwordKey }}
{{- end }}

{{/*
Whether data outlives the release: "true" or nothing.
*/}}
{{- define "mysql.retained" -}}
{{- if and .Values.persistence.enabled (eq .Values.persistence.whenDeleted "Retain") }}true{{ end }}
{{- end }}
