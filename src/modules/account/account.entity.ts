import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AccountStatus, Plan, Quotas } from '../../access/plans.js';

@Entity('accounts')
export class Account {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('text')
  email: string;

  @Column('text')
  status: AccountStatus;

  @Column('text')
  plan: Plan;

  /** Requests a minute, where an enterprise account has its own. */
  @Column('integer', { nullable: true })
  rateLimit: number | null;

  @Column('integer', { nullable: true })
  burstLimit: number | null;

  /** Quotas in place of those of the plan; null is unlimited. */
  @Column('jsonb', { default: {} })
  quotas: Partial<Quotas>;

  /** Terms for all its recordings (D48). */
  @Column('text', { array: true, default: [] })
  vocabulary: string[];

  /** Speakers to find in recordings whose upload says nothing of them; 0: as many as there are (D86). */
  @Column('smallint', { nullable: true })
  speakers: number | null;

  /** Days that the audio of its recordings is kept; null: for ever (D78). */
  @Column('integer', { nullable: true })
  retainAudioDays: number | null;

  /** Days that its recordings are kept with their texts; null: for ever. */
  @Column('integer', { nullable: true })
  retainTextDays: number | null;

  @Column('text', { nullable: true })
  deleteAudioAfter: 'transcribed' | null;

  /** Engines for its recordings in place of those of the service, as `EngineChoiceJson`; null: those of the service. */
  @Column('jsonb', { nullable: true })
  engines: object[] | null;

  /** While suspended: recordings and deliveries go on instead of waiting. */
  @Column('boolean', { default: false })
  finishQueue: boolean;

  /** Incremented by triggers: see `CredentialVersionsService`. */
  @Column('integer', { default: 1 })
  credentialVersion: number;

  /** The account whose test account this is (D80); null for all others. */
  @Column('uuid', { nullable: true })
  testOf: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
