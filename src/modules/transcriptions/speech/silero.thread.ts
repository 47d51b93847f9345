import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { SAMPLES_PER_SECOND } from '../audio/pcm.js';
import { SILERO_CONFIG, type SileroAnswer, type SileroRequest, SileroStream, type Vad } from './silero-stream.js';

/** Version 6.2 of Silero VAD for 16 kHz, under the MIT licence: see README.md in this folder for its source. */
const SILERO_SHA256 = '7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49';

/** Detectors that no recording uses now. Each holds 3 MB. */
const MAX_IDLE = 4;

const port = parentPort!;
const answer = (message: SileroAnswer): void => port.postMessage(message);

/** Loads the model of one detector. */
function loader(file: string): () => Vad {
  const digest = hash('sha256', readFileSync(file), 'hex');
  // A damaged model ends the whole process, and a missing one is not reported.
  if (digest !== SILERO_SHA256) throw new Error(`${file} is damaged: its SHA-256 is ${digest}`);
  const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as {
    Vad: new (config: object, bufferSeconds: number) => Vad;
  };
  const config = { ...SILERO_CONFIG, sileroVad: { ...SILERO_CONFIG.sileroVad, model: file } };
  return () => new sherpa.Vad({ ...config, sampleRate: SAMPLES_PER_SECOND }, 1);
}

function serve(load: () => Vad, stopping: Int32Array): void {
  const streams = new Map<number, SileroStream>();
  const idle = [load()];
  port.on('message', (request: SileroRequest) => {
    if (Atomics.load(stopping, 0) === 1) {
      port.close();
      return;
    }
    let stream = streams.get(request.stream);
    if ('close' in request) {
      streams.delete(request.stream);
      if (stream && idle.length < MAX_IDLE) idle.push(stream.release());
      return;
    }
    if (!stream) streams.set(request.stream, (stream = new SileroStream(idle.pop() ?? load())));
    const windows = stream.detect(request.pcm);
    if (request.last) windows.push(...stream.end());
    answer({ stream: request.stream, windows });
  });
}

try {
  const { model, stopping } = workerData as { model: string; stopping: Int32Array };
  serve(loader(model), stopping);
} catch (error) {
  answer({ problem: (error as Error).message });
  port.close();
}
