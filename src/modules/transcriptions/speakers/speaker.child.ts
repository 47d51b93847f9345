import sherpa, { type OfflineSpeakerDiarization } from 'sherpa-onnx-node';
import type { ChildAnswer } from '../engines/children/child-messages.js';
import { type AudioReceiver, serveRequests } from '../engines/children/child-side.js';
import { paddedSamples, type SpeakerOptions, type SpeakerSettings, windowsOf } from './speaker-settings.js';

const FULL_SCALE = 32_768;
const MS = 1000;
const KIB = 1024;

/** sherpa-onnx's diarization. It does not return before it is done, and its faults end the process. */
class SherpaDiarizer {
  private readonly diarizer: OfflineSpeakerDiarization;

  constructor(private readonly settings: SpeakerSettings) {
    const { segmentation, embedding, window } = settings;
    this.diarizer = new sherpa.OfflineSpeakerDiarization({
      segmentation: { pyannote: { model: segmentation }, numThreads: 1 },
      embedding: { model: embedding, numThreads: 1 },
      clustering: this.clustering(null),
    });
    // The first use of a model allocates what it needs.
    this.diarizer.process(new Float32Array(window));
  }

  open({ speakers }: SpeakerOptions, bytes: number): AudioReceiver {
    const { window } = this.settings;
    const length = bytes >> 1;
    const audio = new SampleBuffer(paddedSamples(length, window));
    return {
      write: (part) => audio.write(part),
      answer: () => this.answer(audio.samples, speakers, windowsOf(length, window)),
    };
  }

  private answer(samples: Float32Array, speakers: number | null, windows: number): ChildAnswer {
    let heard = this.process(samples, speakers);
    // With fewer voices than it is to make people of, sherpa-onnx makes one of all.
    const isOne = heard.length > 0 && heard.every(({ speaker }) => speaker === heard[0]?.speaker);
    if (speakers !== null && speakers > 1 && windows > 1 && isOne) heard = this.process(samples, null);
    const segments = heard.map(({ start, end, speaker }) => ({ start: rounded(start), end: rounded(end), speaker }));
    // In a sandbox there is no /proc, from which the present size would be read.
    return { speakers: { segments, residentBytes: process.resourceUsage().maxRSS * KIB } };
  }

  private process(samples: Float32Array, speakers: number | null) {
    this.diarizer.setConfig({ clustering: this.clustering(speakers) });
    return this.diarizer.process(samples);
  }

  private clustering(speakers: number | null) {
    return { numClusters: speakers ?? -1, threshold: this.settings.threshold };
  }
}

const rounded = (seconds: number): number => Math.round(Math.max(0, seconds) * MS) / MS;

/** 16-bit little-endian to −1 … 1, as the bytes come. */
class SampleBuffer {
  private written = 0;
  /** The first half of a sample whose second has not come. */
  private half: number | null = null;
  readonly samples: Float32Array;

  constructor(length: number) {
    this.samples = new Float32Array(length);
  }

  write(part: Buffer): void {
    let at = 0;
    if (this.half !== null && part.length > 0) this.add(Buffer.of(this.half, part[at++] as number).readInt16LE());
    const end = part.length - ((part.length - at) % 2);
    for (; at < end; at += 2) this.add(part.readInt16LE(at));
    if (part.length > 0) this.half = end < part.length ? (part[end] as number) : null;
  }

  private add(sample: number): void {
    this.samples[this.written++] = sample / FULL_SCALE;
  }
}

await serveRequests(() => {
  const diarizer = new SherpaDiarizer(JSON.parse(process.argv[2] ?? '{}') as SpeakerSettings);
  return (options, bytes) => diarizer.open(options as SpeakerOptions, bytes);
});
