import { Column, Entity, PrimaryColumn } from 'typeorm';

/** `pcm16`: samples of 16 bits, little-endian, one channel; the others as a browser records them. */
export type LiveAudioFormat = 'pcm16' | 'webm' | 'ogg' | 'mp4';

export type EndReason = 'finished' | 'silent' | 'abandoned' | 'quota' | 'too_long';

/** A recording that is being recorded, or whose file is not stored yet (D91). */
@Entity('live_recordings')
export class LiveRecordingRow {
  @PrimaryColumn('uuid')
  recordingId: string;

  @Column('uuid')
  accountId: string;

  @Column('text')
  audioFormat: LiveAudioFormat;

  /** Hz, of raw PCM only. */
  @Column('integer', { nullable: true })
  sampleRate: number | null;

  @Column('bigint')
  storedBytes: number;

  /** Of PCM its length; else the time in which it arrived. */
  @Column('bigint')
  storedMs: number;

  /** The key that is reserved for its object, and what the account's quotas count for it. */
  @Column('text')
  reservedKey: string;

  @Column('bigint')
  reservedBytes: number;

  @Column('bigint')
  reservedMs: number;

  @Column('timestamptz')
  lastAudioAt: Date;

  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('text', { nullable: true })
  endReason: EndReason | null;

  /** Time of the next attempt to make the file or, while a deliverer holds the lease, its end. */
  @Column('timestamptz', { nullable: true })
  dueAt: Date | null;

  @Column('uuid', { nullable: true })
  assemblyToken: string | null;

  /** Number of all attempts, so that each has a key of its own for the object. */
  @Column('integer')
  claims: number;

  @Column('timestamptz', { nullable: true })
  assembledAt: Date | null;

  /** Held by the transcriber that writes words while one speaks. */
  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** No words follow. */
  @Column('timestamptz', { nullable: true })
  wordsEndedAt: Date | null;

  /** Why words are missing, or there are none, for the client. */
  @Column('text', { nullable: true })
  wordsProblem: string | null;
}
