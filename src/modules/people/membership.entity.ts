import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import type { Role } from '../../access/roles.js';
import { Person } from './person.entity.js';

/** That a person belongs to an account. With the last one the database removes the person. */
@Entity('memberships')
export class Membership {
  @PrimaryColumn('uuid')
  id: string;

  @ForeignKey('Account', { onDelete: 'CASCADE' })
  @Column('uuid')
  accountId: string;

  @ForeignKey(() => Person, { onDelete: 'CASCADE' })
  @Column('uuid')
  personId: string;

  @Column('text')
  role: Role;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
