import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How far the recordings from before the first release with search are indexed. */
@Entity('search_backfill')
export class SearchBackfill {
  /** Always 1. */
  @PrimaryColumn('integer')
  id: number;

  /** Recordings with this id and later ones are indexed. Null at the start. */
  @Column('uuid', { nullable: true })
  beforeId: string | null;

  @Column('boolean')
  done: boolean;
}
