import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of an account's last event that has one. */
@Entity('event_sequences')
export class EventSequence {
  @PrimaryColumn('uuid')
  accountId: string;

  @Column('bigint')
  last: string;
}
