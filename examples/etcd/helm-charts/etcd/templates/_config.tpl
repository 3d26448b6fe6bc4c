{{/*
What the configurations of all members have in common; each adds what is its own.
*/}}
{{- define "etcd.config" -}}
{{- range list "name" "data-dir" "listen-client-urls" "listen-peer-urls" "listen-metrics-urls" "advertise-client-urls"
    "initial-advertise-peer-urls" "initial-cluster" "initial-cluster-state" "initial-cluster-token"
    "client-transport-security" "peer-transport-security" }}
{{- if hasKey $.Values.config . }}{{ fail (printf "config.%s is not for the resource to say" .) }}{{ end }}
{{- end -}}
listen-client-urls: {{ ternary "https" "http" (not (empty .Values.tls.client)) }}://0.0.0.0:2379
listen-peer-urls: {{ ternary "https" "http" (not (empty .Values.tls.peer)) }}://0.0.0.0:2380
listen-metrics-urls: http://0.0.0.0:2381
{{- range $who, $secret := .Values.tls }}
{{- if $secret }}
{{ $who }}-transport-security:
  cert-file: /tls/{{ $who }}/tls.crt
  key-file: /tls/{{ $who }}/tls.key
  trusted-ca-file: /tls/{{ $who }}/ca.crt
  client-cert-auth: true
  {{- if eq $who "peer" }}
  # A pod has no name for its address in every cluster. Who has a certificate of this authority is a member.
  skip-client-san-verification: true
  {{- end }}
{{- end }}
{{- end }}
{{- with .Values.config }}
{{ toYaml . }}
{{- end }}
{{- end }}
