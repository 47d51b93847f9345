import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An object to remove from the store: reserved by an upload that is not finished yet, or left by a deleted recording. */
@Entity('object_removals')
export class ObjectRemoval {
  @PrimaryColumn('text')
  objectKey: string;

  @Column('timestamptz')
  removeAfter: Date;

  /** Once the first has begun, no recording can claim the object any more. */
  @Column('integer', { default: 0 })
  attempts: number;

  /** Whose quotas count the upload until it is finished (D32); null for an object that nobody waits for. */
  @Column('uuid', { nullable: true })
  accountId: string | null;

  @Column('bigint', { nullable: true })
  bytes: number | null;

  @Column('bigint', { nullable: true })
  durationMs: number | null;
}
