import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The erasure of an end user that is not complete yet. */
@Entity('user_erasures')
export class UserErasure {
  @PrimaryColumn('uuid')
  accountId: string;

  @PrimaryColumn('text')
  userId: string;

  @Column('timestamptz')
  requestedAt: Date;
}
