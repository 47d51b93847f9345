import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The archive of an account (D105). An account has one at a time. */
@Entity('account_exports')
export class AccountExport {
  @PrimaryColumn('uuid')
  accountId: string;

  /** Of this archive: another one has another. */
  @Column('uuid')
  id: string;

  @Column('text')
  status: 'preparing' | 'ready' | 'failed';

  /** Until then a process makes the archive. */
  @Column('timestamptz')
  leaseUntil: Date;

  /** Of the keys of its parts; null for that of `exportPrefix`, as releases before have it. */
  @Column('text', { nullable: true })
  prefix: string | null;

  /** How many objects have been reserved. */
  @Column('integer')
  parts: number;

  /** As Postgres sends a bigint; null until it is ready. */
  @Column('bigint', { nullable: true })
  sizeBytes: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  expiresAt: Date;
}
