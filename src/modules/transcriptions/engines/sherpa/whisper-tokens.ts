import { readText } from '../../../models/model-folder.js';
import type { SherpaResult } from './sherpa-words.js';

/**
 * Whisper's tokens are bytes, and a character may be spread over several: Hindi and Thai mostly are. sherpa-onnx 1.13
 * checks each token for itself and drops what is no whole character. So it gets a file in which every token is its number,
 * and the bytes are put together here.
 */
const NUMBER = /<(\d+)>/g;

/** The content of the file for sherpa-onnx, which expects Base64. */
export function numberedTokens(tokensFile: string): string {
  const lines = [...bytesOf(tokensFile).keys()].map((id) => `${Buffer.from(`<${id}>`).toString('base64')} ${id}\n`);
  return lines.join('');
}

/** Puts the characters of a result together. */
export class WhisperTokens {
  private readonly bytes: ReadonlyMap<number, Buffer>;

  constructor(tokensFile: string) {
    this.bytes = bytesOf(tokensFile);
  }

  decode(result: SherpaResult): SherpaResult {
    return {
      ...result,
      text: this.textOf(result.text),
      segment_texts: result.segment_texts?.map((text) => this.textOf(text)),
      ...this.wholeCharacters(result),
    };
  }

  private textOf(numbers: string): string {
    return this.join(numbers).toString('utf8').replaceAll('\ufffd', '');
  }

  private join(numbers: string): Buffer {
    return Buffer.concat([...numbers.matchAll(NUMBER)].map(([, id]) => this.bytes.get(Number(id)) ?? Buffer.alloc(0)));
  }

  /** Joins tokens up to the end of a character. */
  private wholeCharacters({ tokens, timestamps, durations, ys_log_probs: probabilities }: SherpaResult) {
    const whole = { tokens: [], timestamps: [], durations: [], ys_log_probs: [] } as Pick<
      SherpaResult,
      'tokens' | 'timestamps' | 'durations' | 'ys_log_probs'
    >;
    let first = 0;
    tokens.forEach((_, index) => {
      const bytes = this.join(tokens.slice(first, index + 1).join(''));
      if (endsWithin(bytes) && index + 1 < tokens.length) return;
      whole.tokens.push(bytes.toString('utf8'));
      const end = (timestamps[index] ?? 0) + (durations[index] ?? 0);
      if (timestamps.length > 0) whole.timestamps.push(timestamps[first] ?? 0);
      if (durations.length > 0) whole.durations.push(Math.max(0, end - (timestamps[first] ?? 0)));
      if (probabilities.length > 0) whole.ys_log_probs.push(Math.min(...probabilities.slice(first, index + 1)));
      first = index + 1;
    });
    return whole;
  }
}

/** Whether the last character lacks bytes: a character begins with as many ones as it has bytes. */
function endsWithin(bytes: Buffer): boolean {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return false;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2);
  }
  return false;
}

function bytesOf(tokensFile: string): Map<number, Buffer> {
  const bytes = new Map<number, Buffer>();
  for (const line of readText(tokensFile).split('\n')) {
    const [, base64, id] = /^(\S+)\s+(\d+)\s*$/.exec(line) ?? [];
    if (base64 !== undefined) bytes.set(Number(id), Buffer.from(base64, 'base64'));
  }
  return bytes;
}
