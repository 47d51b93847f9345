import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AudioFormat } from './audio/formats/audio-format.js';

export const RECORDING_STATUSES = ['processing', 'transcribed', 'failed'] as const;
export type RecordingStatus = (typeof RECORDING_STATUSES)[number];

export const UPLOAD_SOURCES = ['api', 'console', 'access_token'] as const;
export type UploadSource = (typeof UPLOAD_SOURCES)[number];

/** What was found in the audio; set with `transcribed`. */
export interface RecordingFeatures {
  speech_seconds: number | null;
  no_speech: boolean;
}

@Entity('recordings')
export class Recording {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** The end user, from an access token. */
  @Column('text', { nullable: true })
  userId: string | null;

  @Column('text')
  originalFilename: string;

  @Column('text')
  objectKey: string;

  @Column('text')
  bucket: string;

  /** Probed at upload; decoded once there is a terminal state. */
  @Column('integer')
  durationMs: number;

  @Column('integer')
  fileSizeBytes: number;

  @Column('text')
  audioFormat: AudioFormat;

  /** Hz. */
  @Column('integer', { nullable: true })
  sampleRate: number | null;

  @Column('integer', { nullable: true })
  channels: number | null;

  /** Bits a second. */
  @Column('integer', { nullable: true })
  bitRate: number | null;

  @Column('text', { nullable: true })
  audioCodec: string | null;

  @Column('text', { nullable: true })
  clientIp: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  @Column('text')
  uploadSource: UploadSource;

  /** Compact JSON text: `json` columns would do, `jsonb` and objects would lose the order of the keys (D28). */
  @Column('text', { nullable: true })
  customTags: string | null;

  /** The language that was asked for, if any. */
  @Column('text', { nullable: true })
  language: string | null;

  @Column('text')
  status: RecordingStatus;

  @Column('jsonb', { nullable: true })
  features: RecordingFeatures | null;

  /** For the client; set with `failed`. */
  @Column('text', { nullable: true })
  failureReason: string | null;

  /** 1 at upload, one more with each retry: a run ends in one terminal state and one event. */
  @Column('integer')
  run: number;

  /** Claims of this run. */
  @Column('integer')
  attempt: number;

  /** Attempts of this run for whose end the audio itself may be to blame. */
  @Column('integer')
  faults: number;

  /** Held by the worker that is at it; worthless after `leaseUntil`. */
  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  /** Nobody may claim before this: a worker is at it, or it failed a moment ago. */
  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;

  @Column('timestamptz', { nullable: true })
  processedAt: Date | null;
}
