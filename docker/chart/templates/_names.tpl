{{/* Begins the name of everything: the release, shortened. Nothing else, so that two releases have no name in common. */}}
{{- define "voice-notes.name" -}}
{{- if gt (len .Release.Name) 40 -}}
{{- printf "%s-%s" (trunc 31 .Release.Name | trimSuffix "-") (sha256sum .Release.Name | trunc 8) -}}
{{- else -}}
{{- .Release.Name -}}
{{- end -}}
{{- end }}

{{/* What a selector looks for. It never changes. Takes {root, part}. */}}
{{- define "voice-notes.selector" -}}
app.kubernetes.io/name: voice-notes
app.kubernetes.io/instance: {{ include "voice-notes.name" .root }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "voice-notes.labels" -}}
{{ include "voice-notes.selector" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "voice-notes.image" -}}
{{- $image := .Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{- $image.repository -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{/* Takes {root, image}. */}}
{{- define "voice-notes.bundledImage" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}{{ .image -}}
{{- end }}

{{/* Name of the Secret of a role: one that exists, or that of the chart. Takes {root, part}. */}}
{{- define "voice-notes.secretName" -}}
{{- get .root.Values.secrets.existing .part | default (printf "%s-%s" (include "voice-notes.name" .root) .part) -}}
{{- end }}

{{- define "voice-notes.usesExisting" -}}
{{- with .Values.secrets.existing }}{{ if or .owner .api .transcriber .deliverer }}yes{{ end }}{{ end -}}
{{- end }}

{{/* A password of the bundled Postgres or Redis. Takes {root, of}. */}}
{{- define "voice-notes.bundledPassword" -}}
{{- printf "%s %s" .root.Values.bundled.seed .of | sha256sum | trunc 40 -}}
{{- end }}

{{- define "voice-notes.usesDisk" -}}
{{- if eq .Values.config.STORAGE_DRIVER "disk" }}yes{{ end -}}
{{- end }}

{{- define "voice-notes.usesS3" -}}
{{- if eq .Values.config.STORAGE_DRIVER "s3" }}yes{{ end -}}
{{- end }}

{{/* Whether the audio is on a volume that one node mounts. */}}
{{- define "voice-notes.onOneNode" -}}
{{- if and (include "voice-notes.usesDisk" .) (eq .Values.storage.accessMode "ReadWriteOnce") }}yes{{ end -}}
{{- end }}
