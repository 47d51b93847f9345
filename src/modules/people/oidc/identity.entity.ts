import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Person } from '../person.entity.js';

/** Who a person is at an OpenID provider: the issuer and its subject, and nothing else, lead to the person. */
@Entity('identities')
export class Identity {
  @PrimaryColumn('uuid')
  id: string;

  @ForeignKey(() => Person, { onDelete: 'CASCADE' })
  @Column('uuid')
  personId: string;

  @Column('text')
  issuer: string;

  @Column('text')
  subject: string;

  @Column('timestamptz')
  createdAt: Date;
}
