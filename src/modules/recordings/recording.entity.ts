import { Column, Entity, PrimaryColumn } from 'typeorm';
import { type AuditedChange, auditTarget } from '../../access/audit-trail.js';
import type { AudioFormat } from '../../platform/audio-formats.js';

export const RECORDING_STATUSES = ['processing', 'transcribed', 'failed'] as const;
export type RecordingStatus = (typeof RECORDING_STATUSES)[number];

export const UPLOAD_SOURCES = ['api', 'console', 'access_token'] as const;
export type UploadSource = (typeof UPLOAD_SOURCES)[number];

/**
 * Why a transcribed recording is transcribed again. `requested`: by its account, and it waits like an upload. `background`:
 * by the operator, behind all others; `quiet` without an event.
 */
export type Rerun = 'requested' | 'background' | 'quiet';

/** A language of a recording. */
export interface HeardLanguage {
  /** Lower-case English name. */
  language: string;
  /** That of its words, 0–1. */
  confidence: number;
  /** Length of the audio that it was heard in. */
  seconds: number;
}

/** What the engine found in the audio; set with the status `transcribed`. */
export interface RecordingFeatures {
  speech_seconds: number | null;
  no_speech: boolean;
  /** Terms that were given to the engine; only where the upload or the account named any (D48). */
  vocabulary?: readonly string[];
  /** What was heard, most of it first; only if the upload named several languages (D69). */
  languages?: readonly HeardLanguage[];
  /** Only where the text is in English because that was asked for (D71). */
  task?: 'translate';
  /** Only where the service has added capitals and full stops to the text of the engine. */
  punctuation?: 'added';
  /** How many were transcribed each on its own; only if the upload asked for that. */
  channels?: number;
  /** Who found how many; null if that failed. Only where speakers were asked for (D86). */
  speakers?: { count: number; model: string } | null;
  /** Why `speakers` is null, in a sentence. Only then. */
  speakers_problem?: string;
}

@Entity('recordings')
export class Recording {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  /** The end user that the access token named. */
  @Column('text', { nullable: true })
  userId: string | null;

  /** The API key of the upload, or the one that issued its access token; null for earlier recordings. */
  @Column('uuid', { nullable: true })
  keyId: string | null;

  @Column('text')
  originalFilename: string;

  /** What a client calls it; null: as its file (D75). */
  @Column('text', { nullable: true })
  title: string | null;

  @Column('text')
  objectKey: string;

  @Column('text')
  bucket: string;

  /** As the header says; once transcribed, as decoded. */
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

  /** Bits per second. */
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

  /** Compact JSON text, because `jsonb` would lose the order of the keys (D28). */
  @Column('text', { nullable: true })
  customTags: string | null;

  /** The language that the upload named, or the last request to transcribe it again, in lower-case English. */
  @Column('text', { nullable: true })
  language: string | null;

  /** The languages that the upload named in place of one, or the last request to transcribe it again (D69). */
  @Column('text', { array: true, nullable: true })
  languages: string[] | null;

  /** Whether its text is to be in English, whatever is spoken (D71). */
  @Column('boolean')
  translate: boolean;

  /** Terms that the upload named (D48). */
  @Column('text', { array: true, nullable: true })
  vocabulary: string[] | null;

  /** Whether each of two channels is transcribed on its own. */
  @Column('boolean')
  separateChannels: boolean;

  /** How many speakers to find; 0: as many as there are, null: none is asked for (D86). */
  @Column('smallint', { nullable: true })
  speakers: number | null;

  /** By label, such as `{"A":"Ada"}`. Another run keeps them. */
  @Column('jsonb', { nullable: true })
  speakerNames: Record<string, string> | null;

  @Column('text')
  status: RecordingStatus;

  @Column('jsonb', { nullable: true })
  features: RecordingFeatures | null;

  /** For the client; set with the status `failed`. */
  @Column('text', { nullable: true })
  failureReason: string | null;

  /**
   * 1 at upload, plus 1 for each retry and at the end of each rerun. A run ends with one terminal status and at most one
   * event.
   */
  @Column('integer')
  run: number;

  /** While a transcribed recording is to be transcribed again; its text is served all the time (D49). */
  @Column('text', { nullable: true })
  rerun: Rerun | null;

  /** Since when; its place in the queue. */
  @Column('timestamptz', { nullable: true })
  rerunAt: Date | null;

  /** The engine that the client asked for in this run; null: as configured. */
  @Column('text', { nullable: true })
  requestedEngine: string | null;

  /** Number of claims in this run. */
  @Column('integer')
  attempt: number;

  /** Number of failed attempts in this run of which the audio may be the cause. */
  @Column('integer')
  faults: number;

  /** Held by the worker that has claimed the recording; expires at `leaseUntil`. */
  @Column('uuid', { nullable: true })
  leaseToken: string | null;

  /** No claim before this time: a worker holds the lease, or the next attempt is delayed. */
  @Column('timestamptz', { nullable: true })
  leaseUntil: Date | null;

  /** When its audio is to be deleted, and it with its text; null: never (D78). Decided at the upload. */
  @Column('timestamptz', { nullable: true })
  audioDueAt: Date | null;

  @Column('timestamptz', { nullable: true })
  textDueAt: Date | null;

  /** `transcribed`: the audio is to be deleted once the recording is transcribed. */
  @Column('text', { nullable: true })
  deleteAudioAfter: 'transcribed' | null;

  @Column('timestamptz', { nullable: true })
  audioDeletedAt: Date | null;

  /** Since when nothing of it may be deleted (D79). */
  @Column('timestamptz', { nullable: true })
  heldAt: Date | null;

  @Column('text', { nullable: true })
  holdReason: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;

  @Column('timestamptz', { nullable: true })
  processedAt: Date | null;
}

/** The key of a recording's object (D25). @param name of the file, with its format as the extension */
export function objectKeyOf(accountId: string, createdAt: Date, name: string): string {
  const month = createdAt.toISOString().slice(0, 'yyyy-mm'.length).replace('-', '/');
  return `${accountId}/${month}/${name}`;
}

/** An entry of the audit log about one recording. It says nothing of what the recording holds. */
export const recordingChange = (
  { accountId, id }: Pick<Recording, 'accountId' | 'id'>,
  action: string,
): AuditedChange => ({
  accountId,
  action,
  targets: [auditTarget('recording', id)],
});
