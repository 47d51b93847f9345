{{/* The Deployment of a role. Takes {root, part}. */}}
{{- define "voice-notes.deployment" -}}
{{- $root := .root -}}
{{- $part := .part -}}
{{- $own := get $root.Values $part -}}
{{- $name := include "voice-notes.name" $root -}}
{{- $isTranscriber := eq $part "transcriber" -}}
{{- $scales := and $isTranscriber $own.autoscaling.via -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}-{{ $part }}
  labels: {{- include "voice-notes.labels" . | nindent 4 }}
spec:
{{- if not $scales }}
  replicas: {{ int $own.replicas }}
{{- end }}
  selector:
    matchLabels: {{- include "voice-notes.selector" . | nindent 6 }}
  # Longer than pods wait for the schema.
  progressDeadlineSeconds: {{ add $root.Values.migration.waitSeconds 300 }}
  strategy:
    type: RollingUpdate
{{- if $isTranscriber }}
    # A second one beside each would want its cores and memory; what a pod leaves, others go on with.
    rollingUpdate: { maxSurge: 0, maxUnavailable: 25% }
{{- else }}
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
{{- end }}
  template:
    metadata:
      labels:
        {{- include "voice-notes.labels" . | nindent 8 }}
        voice-notes/metrics: served
{{- if include "voice-notes.usesDisk" $root }}
        voice-notes/audio: volume
{{- end }}
{{- $data := include "voice-notes.secretData" . }}
{{- if or $data $own.podAnnotations }}
      annotations:
{{- with $data }}
        # A change of the Secret that the chart makes replaces the pods.
        checksum/secret: {{ sha256sum . }}
{{- end }}
{{- with $own.podAnnotations }}
{{- toYaml . | nindent 8 }}
{{- end }}
{{- end }}
    spec:
      serviceAccountName: {{ $name }}-{{ $part }}
      {{- include "voice-notes.podBasics" $root | nindent 6 }}
      terminationGracePeriodSeconds: {{ int $own.gracePeriodSeconds }}
{{- with $own.priorityClassName }}
      priorityClassName: {{ . }}
{{- end }}
{{- with $own.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
{{- end }}
{{- with $own.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
{{- end }}
{{- if include "voice-notes.onOneNode" $root }}
      # All roles on the node that mounts the volume of the audio.
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: { app.kubernetes.io/instance: {{ $name }}, voice-notes/audio: volume }
{{- else }}
      topologySpreadConstraints:
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: {{ ternary $root.Values.spread.whenUnsatisfiable "ScheduleAnyway" (eq . "topology.kubernetes.io/zone") }}
          labelSelector:
            matchLabels: {{- include "voice-notes.selector" (dict "root" $root "part" $part) | nindent 14 }}
          # Each release of the pods by itself.
          matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
      securityContext: {{- include "voice-notes.podSecurity" $root | nindent 8 }}
      initContainers:
        # The role of Postgres may not even be there yet. Another process migrates.
        - name: schema
          image: {{ include "voice-notes.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          command: [node, dist/commands/migrate.js, --wait, {{ int $root.Values.migration.waitSeconds | quote }}]
          env: {{- include "voice-notes.environment" . | nindent 12 }}
          volumeMounts: {{- include "voice-notes.mounts" $root | nindent 12 }}
          resources:
            requests: { cpu: 50m, memory: 128Mi }
            limits: { memory: 256Mi }
          securityContext: {{- include "voice-notes.containerSecurity" $root | nindent 12 }}
      containers:
        - name: {{ $part }}
          image: {{ include "voice-notes.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          env: {{- include "voice-notes.environment" . | nindent 12 }}
          ports:
            - { name: http, containerPort: 3000 }
          # Two minutes to start; then a restart does not help where Postgres is missing, so that only readiness asks for it.
          startupProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 15
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: { path: /health/ready, port: http }
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          resources: {{- toYaml $own.resources | nindent 12 }}
          securityContext: {{- include "voice-notes.containerSecurity" $root | nindent 12 }}
{{- if $isTranscriber }}
            seccompProfile: {{- toYaml $own.seccompProfile | nindent 14 }}
{{- with $own.appArmorProfile }}
            appArmorProfile: {{- toYaml . | nindent 14 }}
{{- end }}
{{- end }}
          volumeMounts: {{- include "voice-notes.mounts" $root | nindent 12 }}
            - { name: data, mountPath: /data }
{{- if and $isTranscriber $root.Values.models.volume }}
            - { name: models, mountPath: /models, readOnly: true }
{{- end }}
      volumes:
        {{- include "voice-notes.secretVolume" . | nindent 8 }}
        {{- include "voice-notes.commonVolumes" $root | nindent 8 }}
        {{- include "voice-notes.dataVolume" $root | nindent 8 }}
{{- if and $isTranscriber $root.Values.models.volume }}
        - name: models
          {{- toYaml $root.Values.models.volume | nindent 10 }}
{{- end }}
{{- end }}
