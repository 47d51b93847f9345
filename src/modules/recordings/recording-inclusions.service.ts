import { Injectable } from '@nestjs/common';
import type { Recording } from './recording.entity.js';

/** What `GET /v1/recordings/{id}?include=` takes: the keys that a part adds to the answer (D54). */
export const INCLUSIONS = [
  'transcription',
  'waveform',
  'waiting_for',
  'title',
  'snippet',
  'partial',
  'retention',
] as const;
export type Inclusion = (typeof INCLUSIONS)[number];

/** What it answers. */
export type InclusionValue = object | string | null;
type Load = (recording: Recording) => Promise<InclusionValue>;

/** Parts that are sent with a recording when they are asked for. The modules that own them register them. */
@Injectable()
export class RecordingInclusionsService {
  private readonly parts = new Map<Inclusion, Load>();

  /** @param load gives null where a recording has no such part. */
  register(name: Inclusion, load: Load): void {
    this.parts.set(name, load);
  }

  /** All of them, by their names. */
  async load(recording: Recording, names: readonly Inclusion[]): Promise<Partial<Record<Inclusion, InclusionValue>>> {
    const loaded = names.map(async (name) => [name, (await this.parts.get(name)?.(recording)) ?? null] as const);
    return Object.fromEntries(await Promise.all(loaded));
  }
}
