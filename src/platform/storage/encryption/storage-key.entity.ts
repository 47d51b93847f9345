import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** The key under which the audio of an account is encrypted. Without this row nobody can read it, wherever its copies are. */
@Entity('storage_keys')
export class StorageKey {
  @PrimaryColumn('uuid')
  accountId: string;

  /** From 1. New audio is encrypted under the highest. */
  @PrimaryColumn('integer')
  version: number;

  /** Encrypted by a {@link KeyWrapper}, and bound to account and version. */
  @Column('text')
  wrappedKey: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt: Date;
}
