import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { WebSocketServer } from 'ws';
import type { IdentifiedRequest } from '../../../access/access.decorators.js';
import { Env } from '../../../platform/config/env.js';
import { ServiceUnavailableError } from '../../../platform/errors/errors.js';
import { switchProtocols, type Upgrade } from '../../../platform/http/server/upgrade.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { addGauge } from '../../../platform/observability/metrics.js';
import { callerOf, requestIdOf } from '../../../platform/observability/request-log.middleware.js';
import { SignalsService } from '../../../platform/redis/signals.service.js';
import { type LiveRecording, LiveRecordingsService } from '../live-recordings.service.js';
import { LiveSignalsService } from '../live-signals.service.js';
import { selectLiveWords } from '../words/live-words.queries.js';
import type { RealtimeProtocol, RecordingSettings, SessionControls } from './realtime-client.js';
import { RealtimeSession, type SessionPorts } from './realtime-session.js';

/** Of one message. Audio in base64 is a third larger than its bytes. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const MAX_FRAGMENTS = 1000;
const TICK_MS = 1000;
const CREDENTIALS_MS = 5000;
export const SUBPROTOCOL = 'realtime';

/** What a connection is opened with. */
export interface SessionStart {
  protocolOf: (controls: SessionControls) => RealtimeProtocol;
  /** Null: the first audio begins one. */
  recording: LiveRecording | null;
  isResumed: boolean;
  begin: (settings: RecordingSettings) => Promise<LiveRecording>;
}

/** The WebSockets of this process (D90). */
@Injectable()
export class RealtimeSessionsService implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Realtime');
  private readonly sessions = new Set<RealtimeSession>();
  private readonly audioBytes: Counter;
  private readonly server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    maxFragments: MAX_FRAGMENTS,
    // Never the one that holds a key.
    handleProtocols: (offered) => offered.has(SUBPROTOCOL) && SUBPROTOCOL,
  });
  private timers: NodeJS.Timeout[] = [];
  private stopped = false;

  constructor(
    private readonly live: LiveRecordingsService,
    private readonly liveSignals: LiveSignalsService,
    private readonly database: DatabaseService,
    private readonly signals: SignalsService,
    private readonly env: Env,
    registry: Registry,
  ) {
    addGauge(registry, 'live_connections', 'Open WebSockets of live recordings.', () => this.open);
    this.audioBytes = new Counter({
      name: 'live_audio_bytes_total',
      help: 'Bytes of audio that were stored of live recordings.',
      registers: [registry],
    });
    this.server.on('headers', (lines, request) => lines.push(...(this.headers.get(request) ?? [])));
  }

  private readonly headers = new WeakMap<IncomingMessage, string[]>();

  get open(): number {
    return this.sessions.size;
  }

  /** @throws ServiceUnavailableError while the process stops */
  checkOpen(): void {
    if (this.stopped) throw new ServiceUnavailableError(1);
  }

  /** Makes the connection of a request a WebSocket. @returns false when it is closed already. */
  accept(request: IdentifiedRequest, response: ServerResponse, upgrade: Upgrade, start: SessionStart): boolean {
    const { socket, head } = upgrade;
    if (!socket.readable || !socket.writable || this.stopped) {
      socket.destroy();
      return false;
    }
    this.headers.set(
      request,
      Object.entries(response.getHeaders()).map(([name, value]) => `${name}: ${String(value)}`),
    );
    switchProtocols(request, response);
    this.server.handleUpgrade(request, socket, head, (webSocket) => {
      const session = new RealtimeSession(webSocket, this.portsOf(request, start), start.protocolOf);
      this.add(session, request);
      session.open(start.recording, start.isResumed);
    });
    return true;
  }

  /** Before the HTTP server waits for its connections. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    this.stopTimers();
    await Promise.all([...this.sessions].map((session) => session.restart()));
  }

  private portsOf(request: IdentifiedRequest, { begin }: SessionStart): SessionPorts {
    const { authenticateAgain } = request;
    if (!authenticateAgain) throw new Error('a request that upgrades has been authenticated');
    return {
      begin,
      append: async (recordingId, byteOffset, audio) => {
        const stored = await this.live.append(recordingId, byteOffset, audio);
        this.audioBytes.inc(audio.length);
        return stored;
      },
      cut: (recordingId, cut) => this.live.cut(recordingId, cut),
      end: (recordingId, reason) => this.live.end(recordingId, reason),
      transcript: (recordingId) => ({
        subscribe: (listener) => this.liveSignals.onWords(recordingId, listener),
        read: (fromItem) => selectLiveWords(this.database, recordingId, fromItem),
        onReadError: (error) => this.warn(error, recordingId),
      }),
      authenticateAgain,
      onRecording: (session, { recordingId }) => this.claim(session, recordingId),
      onError: (error, recordingId) => this.warn(error, recordingId),
      silenceMs: this.env.liveSilenceSeconds * 1000,
    };
  }

  private add(session: RealtimeSession, request: IdentifiedRequest): void {
    if (this.sessions.size === 0) this.startTimers();
    this.sessions.add(session);
    void this.logUntilClosed(session, { request_id: requestIdOf(request), ...callerOf(request) });
  }

  private async logUntilClosed(session: RealtimeSession, caller: object): Promise<void> {
    const fields = { ...caller, protocol: session.protocol.name };
    const beganAt = performance.now();
    this.logger.log(fields, 'live connection opened');
    const { recordingId, bytes, code } = await session.closed;
    this.sessions.delete(session);
    if (this.sessions.size === 0) this.stopTimers();
    const seconds = Math.round((performance.now() - beganAt) / 1000);
    this.logger.log({ ...fields, recording_id: recordingId, bytes, seconds, code }, 'live connection closed');
  }

  /** The last connection to a recording is the one that counts, in whichever process it is. */
  private claim(session: RealtimeSession, recordingId: string): void {
    const channel = `live-connection:${recordingId}`;
    const unsubscribe = this.signals.subscribe(channel, (id) => {
      if (id !== null && id !== session.id) session.replace();
    });
    void session.closed.then(unsubscribe);
    void this.signals.publish(channel, session.id);
  }

  private startTimers(): void {
    this.timers = [setInterval(() => this.tick(), TICK_MS), setInterval(() => this.checkCredentials(), CREDENTIALS_MS)];
  }

  private stopTimers(): void {
    for (const timer of this.timers) clearInterval(timer);
  }

  private tick(): void {
    const now = performance.now();
    for (const session of this.sessions) session.tick(now);
  }

  private checkCredentials(): void {
    for (const session of this.sessions) {
      // What cannot be checked now is checked the next time.
      session.checkCredentials().catch((error: unknown) => this.warn(error, null));
    }
  }

  private warn(error: unknown, recordingId: string | null): void {
    this.logger.warn({ err: error as Error, recording_id: recordingId }, 'live connection met an error');
  }
}
