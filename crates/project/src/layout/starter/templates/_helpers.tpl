{{/* The name of all objects: the release's, which is that of the resource. */}}
{{- define "%chart%.name" -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* What selects the pods of a release. */}}
{{- define "%chart%.selector" -}}
app.kubernetes.io/name: %chart%
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The labels of all objects. */}}
{{- define "%chart%.labels" -}}
{{ include "%chart%.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
