import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

/** A mail ends with the link that it brings: with one that was used or withdrawn there is nothing to be sent. */
const MAILS = [
  `CREATE TABLE IF NOT EXISTS sign_in_mails (
     id uuid CONSTRAINT sign_in_mails_pkey PRIMARY KEY,
     link_id uuid CONSTRAINT sign_in_mails_link_key UNIQUE
       CONSTRAINT sign_in_mails_link_fkey REFERENCES sign_in_links ON DELETE CASCADE,
     encrypted_token text,
     email text,
     attempt integer NOT NULL DEFAULT 0,
     due_at timestamptz NOT NULL,
     created_at timestamptz NOT NULL,
     CONSTRAINT sign_in_mails_kind_check CHECK ((link_id IS NULL) = (email IS NOT NULL)
       AND (link_id IS NULL) = (encrypted_token IS NULL))
   )`,
  'CREATE INDEX IF NOT EXISTS sign_in_mails_due_idx ON sign_in_mails (due_at)',
];

/** Links that are to be sent by mail, and requests for some (D104). */
export class SignInMails1795601900000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'people', MAILS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'people', ['DROP TABLE sign_in_mails']);
  }
}
