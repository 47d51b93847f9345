import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { HealthService } from '../../../platform/observability/health.service.js';
import { isolationLevels } from '../../../platform/processes/sandbox.js';
import { EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import { AnnouncedEnginesService } from '../engines/announced-engines.service.js';
import { droppedWords } from '../speech/invented-words.js';
import { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { EngineChainService } from './engine-chain.service.js';

/**
 * Tells operators and other processes about this worker: its readiness, its metrics and its engines. A worker without a
 * working engine is not ready; its readiness check says what to install.
 */
@Injectable()
export class WorkerStatusService implements OnApplicationBootstrap, OnApplicationShutdown {
  private endAnnouncement = (): void => undefined;

  constructor(
    health: HealthService,
    private readonly runtimes: EngineRuntimesService,
    private readonly announced: AnnouncedEnginesService,
    chain: EngineChainService,
    speech: SpeechDetectionService,
    registry: Registry,
  ) {
    health.require('engine', async () => (await chain.decodingProblem()) ?? (await runtimes.problem()));
    health.notice('engines', () => runtimes.degradation());
    for (const metric of [sandboxGauge(), setAsideGauge(runtimes), detectorGauge(speech), droppedWords]) {
      registry.registerMetric(metric);
    }
  }

  onApplicationBootstrap(): void {
    this.endAnnouncement = this.announced.announce(this.runtimes.names, () => this.runtimes.translating);
  }

  onApplicationShutdown(): void {
    this.endAnnouncement();
  }
}

function detectorGauge(speech: SpeechDetectionService): Gauge {
  return new Gauge({
    name: 'speech_detector',
    help: '1 for the detector of speech in use: silero, or energy, which only measures the level of the sound.',
    labelNames: ['detector'],
    registers: [],
    collect() {
      this.reset();
      this.set({ detector: speech.detector }, 1);
    },
  });
}

function setAsideGauge(runtimes: EngineRuntimesService): Gauge {
  return new Gauge({
    name: 'transcription_engine_set_aside',
    help: '1 for each engine that gets no recordings because it failed for all, until it has transcribed again.',
    labelNames: ['engine'],
    registers: [],
    collect() {
      for (const { engine, breaker } of runtimes.all) this.set({ engine: engine.name }, breaker.cause === null ? 0 : 1);
    },
  });
}

function sandboxGauge(): Gauge {
  return new Gauge({
    name: 'sandbox_level',
    help: '1 for the isolation in use: bubblewrap, namespaces, network or none, by program.',
    labelNames: ['program', 'level'],
    registers: [],
    collect() {
      this.reset();
      for (const [program, level] of isolationLevels()) this.set({ program, level }, 1);
    },
  });
}
