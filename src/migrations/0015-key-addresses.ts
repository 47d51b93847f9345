import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeCatalog } from '../platform/database/migration-steps.js';

/** Addresses from which an API key may be used (D95). */
export class KeyAddresses1795600900000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'api_keys', ['ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS allowed_addresses text[]']);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeCatalog(runner, 'api_keys', ['ALTER TABLE api_keys DROP COLUMN allowed_addresses']);
  }
}
