import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { AccountStatus, Plan } from './plans.js';

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

  /** Incremented by triggers: see `CredentialVersionsService`. */
  @Column('integer', { default: 1 })
  credentialVersion: number;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
