import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What is searched of a recording: from the upload on if it has tags, and in any case once it is transcribed. */
@Entity('search_documents')
export class SearchDocument {
  @PrimaryColumn('uuid')
  recordingId: string;

  @Column('uuid')
  accountId: string;

  /** Creation of the recording. */
  @Column('timestamptz')
  createdAt: Date;

  /** Words, tags and the end user, as `search-terms.ts` writes them. */
  @Column('tsvector')
  terms: string;

  /** The tokens of the text, for phrases. Null without a transcription, as is `text`. */
  @Column('text', { nullable: true })
  folded: string | null;

  /** The text that is served, for snippets. */
  @Column('text', { nullable: true })
  text: string | null;
}

/** How far the recordings from before the first release with search are indexed. */
@Entity('search_backfill')
export class SearchBackfill {
  /** Always 1. */
  @PrimaryColumn('integer')
  id: number;

  /** In this pass the recordings with this id and later ones are indexed. Null at its start. */
  @Column('uuid', { nullable: true })
  beforeId: string | null;

  /** 2 at the start, 1 when the second pass is to come, 0 at the end. */
  @Column('integer')
  passesLeft: number;

  /** When the pass may begin. */
  @Column('timestamptz')
  nextAt: Date;
}
