import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Recording } from '../recording.entity.js';

/** A link with which anybody can read one recording (D96). */
@Entity('shares')
export class Share {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid')
  accountId: string;

  @ForeignKey(() => Recording, { onDelete: 'CASCADE' })
  @Column('uuid')
  recordingId: string;

  /** SHA-256 of the token, which is random and stands in the link alone. */
  @Column('text', { select: false })
  tokenHash: string;

  /** As `hashPassword` makes it; null without a password. */
  @Column('text', { nullable: true })
  passwordHash: string | null;

  @Column('boolean')
  includesAudio: boolean;

  /** Null: until it is deleted. */
  @Column('timestamptz', { nullable: true })
  expiresAt: Date | null;

  @Column('integer')
  openedCount: number;

  @Column('timestamptz', { nullable: true })
  lastOpenedAt: Date | null;

  /** The API key that made it. */
  @Column('uuid', { nullable: true })
  createdBy: string | null;

  @Column('timestamptz')
  createdAt: Date;
}
