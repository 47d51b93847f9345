import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** Requests of an account that were refused on one day for the same reason (D53). */
@Entity('request_errors')
export class RequestError {
  @ForeignKey('Account', { onDelete: 'CASCADE' })
  @PrimaryColumn('uuid')
  accountId: string;

  /** `YYYY-MM-DD` in UTC. */
  @PrimaryColumn('date')
  day: string;

  /** Method and route, such as `GET /v1/recordings/{recording_id}`: never a path that a client sent. */
  @PrimaryColumn('text')
  operation: string;

  @PrimaryColumn('integer')
  status: number;

  /** Code of the error; most are numbers. */
  @PrimaryColumn('text')
  code: string;

  /** The first field or parameter that broke a rule; empty for errors that name none. */
  @PrimaryColumn('text')
  field: string;

  @Column('text')
  type: string;

  @Column('bigint')
  count: number;

  @Column('timestamptz')
  firstAt: Date;

  @Column('timestamptz')
  lastAt: Date;

  /** Message of the last error. */
  @Column('text')
  message: string;

  /** Ids of the last requests, the newest first. */
  @Column('text', { array: true })
  requestIds: string[];
}
