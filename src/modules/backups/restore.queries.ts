import type pg from 'pg';
import type { Erasure } from './erasure-journal.js';

/**
 * How far numbers go on after those of the backup: further than any that was given between the backup and the loss. A
 * reader of events that has seen those goes on with the next, and an access token that was issued then is void.
 */
const SKIPPED = 1_000_000;

/** Erasures that the backup does not know. */
export async function createJournal(client: pg.Client): Promise<void> {
  await client.query(
    `CREATE TEMPORARY TABLE journal (id uuid PRIMARY KEY, kind text NOT NULL, subject_id uuid NOT NULL, digest text,
       at timestamptz NOT NULL) ON COMMIT DROP`,
  );
}

/** What is in the backup's own list was erased before it was made, and may have been given anew since, as a membership. */
export async function insertErasures(client: pg.Client, erasures: readonly Erasure[]): Promise<void> {
  await client.query(
    `INSERT INTO journal (id, kind, subject_id, digest, at)
     SELECT id, kind, subject_id, digest, at
     FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, kind text, subject_id uuid, digest text, at timestamptz)
     WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.id = r.id)
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(erasures)],
  );
}

const SUBJECTS = (kind: string): string => `(SELECT subject_id FROM journal WHERE kind = '${kind}')`;

/** Of end users: the reconciler does the rest. Their ids are found by their digests, where they have left anything. */
const ERASE_USERS = `
  INSERT INTO user_erasures (account_id, user_id, requested_at)
  SELECT u.account_id, u.user_id, max(j.at)
  FROM (SELECT account_id, user_id FROM recordings UNION SELECT account_id, user_id FROM events
        UNION SELECT account_id, user_id FROM audit_entries
        UNION SELECT account_id, value FROM usage_breakdowns WHERE dimension = 'user') u
  JOIN journal j ON j.kind = 'user' AND j.subject_id = u.account_id
    AND j.digest = encode(sha256(convert_to(u.account_id || '/' || u.user_id, 'UTF8')), 'hex')
  GROUP BY 1, 2
  ON CONFLICT (account_id, user_id) DO UPDATE SET requested_at = greatest(user_erasures.requested_at, excluded.requested_at)`;

/** In this order: users are known by what they have left, and accounts take with them what is left of theirs. */
const STEPS: readonly (readonly [kind: string, sql: string])[] = [
  ['user', ERASE_USERS],
  ['recording', `DELETE FROM recordings WHERE id IN ${SUBJECTS('recording')}`],
  [
    'audio',
    `WITH gone AS (
       UPDATE recordings r SET audio_deleted_at = j.at FROM journal j
       WHERE j.kind = 'audio' AND j.subject_id = r.id AND r.audio_deleted_at IS NULL RETURNING r.id),
     peaks AS (DELETE FROM waveforms w USING gone WHERE w.recording_id = gone.id)
     SELECT 1 FROM gone`,
  ],
  ['account', `DELETE FROM accounts WHERE id IN ${SUBJECTS('account')}`],
  ['membership', `DELETE FROM memberships WHERE id IN ${SUBJECTS('membership')}`],
  ['person', `DELETE FROM people WHERE id IN ${SUBJECTS('person')}`],
  [
    'password',
    `UPDATE people SET password_hash = NULL, password_salt = NULL
     WHERE id IN ${SUBJECTS('password')} AND password_hash IS NOT NULL`,
  ],
  ['passkey', `DELETE FROM passkeys WHERE id IN ${SUBJECTS('passkey')}`],
  ['identity', `DELETE FROM identities WHERE id IN ${SUBJECTS('identity')}`],
  [
    'api_key',
    `UPDATE api_keys k SET revoked_at = j.at FROM journal j
     WHERE j.kind = 'api_key' AND j.subject_id = k.id AND k.revoked_at IS NULL`,
  ],
  ['token_issuer', `DELETE FROM token_issuers WHERE id IN ${SUBJECTS('token_issuer')}`],
  ['share', `DELETE FROM shares WHERE id IN ${SUBJECTS('share')}`],
  [
    'webhook',
    // The reconciler deletes the deliveries.
    `WITH gone AS (DELETE FROM webhooks WHERE id IN ${SUBJECTS('webhook')} RETURNING id)
     INSERT INTO removed_webhooks (webhook_id) SELECT id FROM gone ON CONFLICT DO NOTHING`,
  ],
];

/** Erases once more what was erased after the backup. */
export async function applyErasures(
  client: pg.Client,
): Promise<{ erased: Record<string, number>; changedAccounts: string[] }> {
  const { rows: changed } = await client.query<{ id: string }>(
    `SELECT DISTINCT account_id AS id FROM recordings r JOIN journal j ON j.subject_id = r.id
     WHERE j.kind IN ('recording', 'audio')`,
  );
  const erased: Record<string, number> = {};
  for (const [kind, sql] of STEPS) {
    const { rowCount } = await client.query(sql);
    if (rowCount) erased[kind] = rowCount;
  }
  // It has no foreign key (docs/decisions/0032).
  await client.query(
    'DELETE FROM live_audio a WHERE NOT EXISTS (SELECT FROM recordings r WHERE r.id = a.recording_id)',
  );
  const { rows: left } = await client.query<{ id: string }>('SELECT id FROM accounts WHERE id = ANY ($1)', [
    changed.map(({ id }) => id),
  ]);
  return { erased, changedAccounts: left.map(({ id }) => id) };
}

/**
 * Sessions and links that have ended after the backup, or were used, would be valid again; and nobody has the objects of
 * exports any more.
 */
export async function endCredentials(client: pg.Client): Promise<void> {
  for (const table of ['sessions', 'sign_in_mails', 'sign_in_links', 'account_exports']) {
    await client.query(`DELETE FROM ${table}`);
  }
  await client.query(
    `WITH raised AS (
       UPDATE accounts SET credential_version = credential_version + ${SKIPPED} RETURNING id, credential_version)
     INSERT INTO access_token_voids (account_id, identity_hash, valid_from, voided_at)
     SELECT id, '', credential_version, now() FROM raised
     ON CONFLICT (account_id, identity_hash) DO UPDATE
       SET valid_from = excluded.valid_from, voided_at = excluded.voided_at`,
  );
}

/** Of events, for readers that have seen more of them than the backup has. */
export async function skipNumbers(client: pg.Client): Promise<void> {
  await client.query(`UPDATE event_sequences SET last = last + ${SKIPPED}`);
}
