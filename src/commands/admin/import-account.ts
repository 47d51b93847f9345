import type { INestApplicationContext } from '@nestjs/common';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import type { Extension } from '../../extension.js';
import { AccountImport, type ImportResult } from '../../modules/archives/account-import.js';
import { ArchiveReader } from '../../modules/archives/archive-reader.js';
import { AuditLogService } from '../../modules/audit/audit-log.service.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { StorageKeysService } from '../../platform/storage/encryption/storage-keys.service.js';
import { recordByOperator } from './admin-context.js';
import { withAudio } from './object-store.js';

/** Reads an export of an account into this installation. Exit code 1 when its audit log does not hold. */
export const importAccount =
  (extensions: Extension[]) =>
  async (app: INestApplicationContext, { file }: { file: string }): Promise<object> => {
    const archive = await ArchiveReader.open(file);
    try {
      const keys = app.get(Env).storageEncryption === 'off' ? null : app.get(StorageKeysService);
      const result = await withAudio(app, extensions, (store, spool) =>
        new AccountImport(app.get(DatabaseService), store, spool, archive, keys).run(),
      );
      return await present(app, result);
    } finally {
      await archive.close();
    }
  };

async function present(app: INestApplicationContext, result: ImportResult): Promise<object> {
  const { manifest, rows, objects, withoutAudio, secrets } = result;
  const { account_id: account, test_account_id: test } = manifest;
  const ids = test === null ? [account] : [account, test];
  const broken: object[] = [];
  for (const id of ids) {
    await app.get(CredentialVersionsService).announce(id);
    const verified = await app.get(AuditLogService).verify(id);
    if (verified.broken) broken.push({ account_id: id, ...verified.broken });
  }
  if (broken.length > 0) process.exitCode = 1;
  recordByOperator(app, 'account imported', { account_id: account });
  return {
    account,
    test_account: test,
    exported_at: manifest.created_at,
    imported: { rows, objects },
    recordings_without_audio: withoutAudio,
    audit_log: { entries: rows.audit_entries ?? 0, broken },
    advice: adviceOn(app.get(SecretsService), secrets),
  };
}

function adviceOn(own: SecretsService, { keys, webhooks }: ImportResult['secrets']): string {
  const unreadable = (secrets: readonly string[]): number =>
    secrets.filter((secret) => own.madeUnder(secret) === null).length;
  const [lostKeys, lostWebhooks] = [unreadable(keys), unreadable(webhooks)];
  if (lostKeys + lostWebhooks === 0) return 'API keys and secrets of webhooks work as before.';
  return (
    `${lostKeys} API keys and ${lostWebhooks} secrets of webhooks were made under another SECRET_KEY: set ` +
    'SECRET_KEY_PREVIOUS to that of the installation that they come from, or replace them.'
  );
}
