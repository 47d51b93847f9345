{{/* Keys of the Secret of a role, as JSON: those that it needs of those that there are. Takes {root, part}. */}}
{{- define "voice-notes.secretKeys" -}}
{{- $root := .root -}}
{{- $keys := list "DATABASE_URL" -}}
{{- if ne .part "owner" -}}
{{- $keys = append $keys "REDIS_URL" -}}
{{- $optional := list "REDIS_SENTINEL_PASSWORD" "S3_ACCESS_KEY_ID" "S3_SECRET_ACCESS_KEY" "METRICS_TOKEN" "STORAGE_KEY" "STORAGE_KEY_PREVIOUS" "STORAGE_KMS_TOKEN" "STORAGE_KMS_CLIENT_CERT" "STORAGE_KMS_CLIENT_KEY" "EGRESS_PROXY_URL" "OTEL_EXPORTER_OTLP_HEADERS" -}}
{{- if eq .part "transcriber" -}}
{{- $optional = concat $optional (list "OPENAI_API_KEY" "OPENAI_CLIENT_CERT" "OPENAI_CLIENT_KEY") -}}
{{- else -}}
{{- $keys = append $keys "SECRET_KEY" -}}
{{- $optional = concat $optional (list "SECRET_KEY_PREVIOUS" "WEBHOOK_CLIENT_CERT" "WEBHOOK_CLIENT_KEY") -}}
{{- end -}}
{{- if eq .part "deliverer" -}}
{{- $optional = concat $optional (list "BACKUP_S3_ACCESS_KEY_ID" "BACKUP_S3_SECRET_ACCESS_KEY") -}}
{{- end -}}
{{- if eq .part "api" -}}
{{- $optional = concat $optional (list "OIDC_PROVIDERS" "SMTP_URL") -}}
{{- end -}}
{{- range $optional -}}
{{- if include "voice-notes.hasSecret" (dict "root" $root "key" .) -}}
{{- $keys = append $keys . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $keys | toJson -}}
{{- end }}

{{/* Whether an optional secret is there. Takes {root, key}. */}}
{{- define "voice-notes.hasSecret" -}}
{{- if include "voice-notes.usesExisting" .root -}}
{{- if has .key .root.Values.secrets.keys }}yes{{ end -}}
{{- else -}}
{{- if get .root.Values.secrets.values .key }}yes{{ end -}}
{{- end -}}
{{- end }}

{{/* DATABASE_URL of a role of Postgres. Takes {root, part}. */}}
{{- define "voice-notes.databaseUrl" -}}
{{- $root := .root -}}
{{- $database := $root.Values.database -}}
{{- if $root.Values.bundled.enabled -}}
{{- $password := include "voice-notes.bundledPassword" (dict "root" $root "of" (printf "postgres %s" .part)) -}}
{{- printf "postgres://voice_notes_%s:%s@%s-postgres:5432/voice_notes" .part $password (include "voice-notes.name" $root) -}}
{{- else -}}
{{- $password := get $database.passwords .part | urlquery | replace "+" "%20" -}}
{{- $isDirect := and (eq .part "owner") $database.directHost -}}
{{- $host := ternary $database.directHost $database.host (not (empty $isDirect)) -}}
{{- $port := ternary $database.directPort $database.port (not (empty $isDirect)) -}}
{{- printf "postgres://voice_notes_%s:%s@%s:%d/%s" .part $password $host (int $port) $database.name -}}
{{- with $database.parameters }}?{{ . }}{{ end -}}
{{- end -}}
{{- end }}

{{/* The variables of a role as JSON, but for secrets. Takes {root, part, direct}: `direct` without PgBouncer. */}}
{{- define "voice-notes.config" -}}
{{- $variables := dict -}}
{{- $own := get .root.Values .part | default dict -}}
{{- range $config := list .root.Values.config (get $own "config" | default dict) -}}
{{- range $name, $value := $config -}}
{{- if and (kindIs "bool" $value) (has $name (list "CONSOLE" "LIVE_ENGINE" "SANDBOX" "STORAGE_ENCRYPTION")) -}}
{{- /* YAML reads `off` as false. */ -}}
{{- $value = ternary "on" "off" $value -}}
{{- end -}}
{{- $_ := set $variables $name (include "voice-notes.text" $value) -}}
{{- end -}}
{{- end -}}
{{- if and (eq .part "api") .root.Values.ingress.enabled (not (get $variables "TRUST_PROXY")) -}}
{{- $_ := set $variables "TRUST_PROXY" "1" -}}
{{- end -}}
{{- if and (eq .part "api") (not (hasKey $variables "SHUTDOWN_DELAY_SECONDS")) -}}
{{- /* In which an Ingress or a Service takes the pod out. */ -}}
{{- $_ := set $variables "SHUTDOWN_DELAY_SECONDS" "5" -}}
{{- end -}}
{{- if and (ne .part "transcriber") (include "voice-notes.hasSecret" (dict "root" .root "key" "OPENAI_API_KEY")) -}}
{{- $_ := set $variables "OPENAI_API_KEY" "held-by-the-transcribers" -}}
{{- end -}}
{{- if .direct -}}
{{- $variables = omit $variables "DATABASE_POOLER" "DATABASE_PREPARED_STATEMENTS" -}}
{{- end -}}
{{- $variables | toJson -}}
{{- end }}

{{/* Large numbers of values are floats to Helm. */}}
{{- define "voice-notes.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else if not (kindIs "invalid" .) }}{{ . }}{{ end -}}
{{- end }}

{{/* The whole environment of a process of the service. Takes {root, part}. */}}
{{- define "voice-notes.environment" -}}
- { name: ROLES, value: {{ .part }} }
{{- include "voice-notes.commonEnvironment" . }}
{{- with (get .root.Values .part).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "voice-notes.commonEnvironment" }}
- { name: NODE_ENV, value: production }
- { name: HOST, value: 0.0.0.0 }
- { name: PORT, value: '3000' }
- { name: STORAGE_DIR, value: /data }
- { name: MODELS_FOLDER, value: /models }
{{- with .root.Values.caCertificates }}
{{- if .configMap }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/voice-notes/{{ .key }} }
{{- end }}
{{- end }}
{{- range $name, $value := include "voice-notes.config" . | fromJson }}
{{- if $value }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- range include "voice-notes.secretKeys" . | fromJsonArray }}
- { name: {{ . }}_FILE, value: /run/secrets/voice-notes/{{ . }} }
{{- end }}
{{- end }}

{{- define "voice-notes.mounts" -}}
- { name: secrets, mountPath: /run/secrets/voice-notes, readOnly: true }
- { name: tmp, mountPath: /tmp }
{{- if .Values.caCertificates.configMap }}
- { name: certificates, mountPath: /etc/voice-notes, readOnly: true }
{{- end }}
{{- end }}

{{/* The volumes of every pod of the service, but for that of its secrets. */}}
{{- define "voice-notes.commonVolumes" -}}
- { name: tmp, emptyDir: { sizeLimit: 2Gi } }
{{- with .Values.caCertificates }}
{{- if .configMap }}
- name: certificates
  configMap: { name: {{ .configMap }}, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- end }}
{{- end }}
{{- end }}

{{- define "voice-notes.dataVolume" -}}
{{- if include "voice-notes.usesDisk" . -}}
- name: data
  persistentVolumeClaim: { claimName: {{ .Values.storage.existingClaim | default (printf "%s-audio" (include "voice-notes.name" .)) }} }
{{- else -}}
- { name: data, emptyDir: { sizeLimit: {{ .Values.storage.spoolSize }} } }
{{- end }}
{{- end }}

{{/* The keys of a role's Secret, as a volume. Takes {root, part}. */}}
{{- define "voice-notes.secretVolume" -}}
- name: secrets
  secret:
    secretName: {{ include "voice-notes.secretName" . }}
    # 0440: for the group of the process, which is fsGroup.
    defaultMode: 288
    items:
{{- range include "voice-notes.secretKeys" . | fromJsonArray }}
      - { key: {{ . }}, path: {{ . }} }
{{- end }}
{{- end }}

{{- define "voice-notes.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "voice-notes.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What every pod of the service says of itself. */}}
{{- define "voice-notes.podBasics" -}}
automountServiceAccountToken: false
# Without variables for each Service of the namespace.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* A setting of transcribers. Takes {root, name}. */}}
{{- define "voice-notes.transcriberSetting" -}}
{{- get (include "voice-notes.config" (dict "root" .root "part" "transcriber") | fromJson) .name -}}
{{- end }}

{{/* Whether transcribers send audio to a server with OpenAI's interface. */}}
{{- define "voice-notes.usesServer" -}}
{{- $engine := include "voice-notes.transcriberSetting" (dict "root" . "name" "TRANSCRIPTION_ENGINE") -}}
{{- if or (contains "openai" $engine) .Values.config.OPENAI_BASE_URL (include "voice-notes.hasSecret" (dict "root" . "key" "OPENAI_API_KEY")) }}yes{{ end -}}
{{- end }}

{{/* Whether transcribers need a model of their own. */}}
{{- define "voice-notes.usesModels" -}}
{{- $root := . -}}
{{- $engines := printf "%s %s" (include "voice-notes.transcriberSetting" (dict "root" . "name" "TRANSCRIPTION_ENGINE")) (include "voice-notes.transcriberSetting" (dict "root" . "name" "LIVE_ENGINE")) -}}
{{- if contains "sherpa" $engines }}yes{{ end -}}
{{- range list "SHERPA_MODEL" "LIVE_MODEL" "SPEAKER_SEGMENTATION_MODEL" "SPEAKER_EMBEDDING_MODEL" -}}
{{- include "voice-notes.transcriberSetting" (dict "root" $root "name" .) -}}
{{- end -}}
{{- end }}
