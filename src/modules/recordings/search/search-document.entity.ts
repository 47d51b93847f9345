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
