import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Somebody who signs in (D97). */
@Entity('people')
export class Person {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** Several people can have the same one. */
  @Column('text')
  email: string;

  /** Null: signs in with links alone. */
  @Column('text', { nullable: true, select: false })
  passwordHash: string | null;

  /** The same for all people with this e-mail address. */
  @Column('text', { nullable: true, select: false })
  passwordSalt: string | null;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  updatedAt: Date;
}
