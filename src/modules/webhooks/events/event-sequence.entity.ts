import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of an account's last event. */
@Entity('event_sequences')
export class EventSequence {
  @PrimaryColumn('uuid')
  accountId: string;

  @Column('bigint')
  last: string;
}
