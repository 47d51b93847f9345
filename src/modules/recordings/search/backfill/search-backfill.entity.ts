import { Column, Entity, PrimaryColumn } from 'typeorm';

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
