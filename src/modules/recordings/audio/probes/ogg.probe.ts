import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';
import type { FileWindow } from '../formats/file-window.js';
import { OGG_PAGE_HEADER_BYTES, type OggPage, readOggPage } from '../formats/ogg-page.js';
import { OggStream } from '../formats/ogg-stream.js';

const CAPTURE_PATTERN = Buffer.from('OggS');

/** In packets: two hours of the shortest packets, 2.5 ms, are 2.9 million. */
const MAX_WORK = 5_000_000;

/** Reading a page's header, or searching for the next page, costs about as much as this many packets. */
const PAGE_WORK = 8;
const SEEK_WORK = 20;

/** Reads every complete page; the decoder checks the checksums. */
export async function probeOgg(window: FileWindow): Promise<AudioFacts> {
  const reading = new OggReading(window);
  let position = 0;
  for (let work = 0; position < window.size && work < MAX_WORK;) {
    if (!window.holds(position, OGG_PAGE_HEADER_BYTES)) await window.moveTo(position);
    const page = readOggPage(window, position);
    if (page && page.end <= window.size) {
      if (!window.holds(position, page.end - position)) await window.moveTo(position);
      reading.take(page);
      work += PAGE_WORK + page.segments;
      position = page.end;
    } else {
      work += SEEK_WORK;
      position = await window.seek(CAPTURE_PATTERN, position + 1);
    }
  }
  return reading.facts();
}

/** The first audio stream, and those chained behind it (RFC 3533 §4), which play one after the other. */
class OggReading {
  private first: OggStream | null = null;
  private current: OggStream | null = null;
  private linkHasBegun = false;
  private finishedSeconds = 0;
  private finishedBytes = 0;

  constructor(private readonly window: FileWindow) {}

  take(page: OggPage): void {
    if (!page.beginsStream) this.linkHasBegun = true;
    // Multiplexed streams all begin before the first of them continues: only one of them is decoded.
    else if (!this.current || this.linkHasBegun) this.begin(page);
    if (this.current?.serial === page.serial) this.current.take(page);
  }

  facts(): AudioFacts {
    if (!this.first) return NOTHING_KNOWN;
    const { codec, sampleRate, channels } = this.first.header;
    this.finish();
    const bitRate = (this.finishedBytes * 8) / this.finishedSeconds;
    return { durationSeconds: this.finishedSeconds, sampleRate, channels, bitRate, codec };
  }

  private begin(page: OggPage): void {
    const stream = OggStream.begin(this.window, page);
    if (!stream) return;
    this.finish();
    this.first ??= stream;
    this.current = stream;
    this.linkHasBegun = false;
  }

  private finish(): void {
    this.finishedSeconds += this.current?.seconds ?? 0;
    this.finishedBytes += this.current?.bytes ?? 0;
  }
}
