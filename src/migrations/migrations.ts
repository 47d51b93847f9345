import type { Extension } from '../extension.js';
import type { Migration } from '../platform/database/connections/data-source.js';
import { Initial1763683200000 } from './0000-0009/0001-initial.js';
import { AccountEpoch1763769600000 } from './0000-0009/0002-account-epoch.js';
import { UsageCountersAndOpenKinds1763856000000 } from './0000-0009/0003-usage-counters-and-open-kinds.js';
import { Quotas1764028800000 } from './0000-0009/0005-quotas.js';
import { FairQueues1764201600000 } from './0000-0009/0007-fair-queues.js';
import { RemovedWebhooks1764288000000 } from './0000-0009/0008-removed-webhooks.js';
import { ObjectRemovalAttempts1764374400000 } from './0000-0009/0009-object-removal-attempts.js';
import { CredentialLineage1764547200000 } from './0010-0019/0011-credential-lineage.js';
import { PreviousWebhookSecrets1764633600000 } from './0010-0019/0012-previous-webhook-secrets.js';
import { EventFeed1764720000000 } from './0010-0019/0013-event-feed.js';
import { DeliveryLog1764806400000 } from './0010-0019/0014-delivery-log.js';
import { Corrections1764892800000 } from './0010-0019/0015-corrections.js';
import { RecordingSearch1764979200000 } from './0010-0019/0016-recording-search.js';
import { UsageBreakdowns1765152000000 } from './0010-0019/0018-usage-breakdowns.js';
import { UsageBreakdownBackfill1765238400000 } from './0010-0019/0019-usage-breakdown-backfill.js';
import { VocabularyAndEngines1765324800000 } from './0020-0029/0020-vocabulary-and-engines.js';
import { TranscribeAgain1765411200000 } from './0020-0029/0021-transcribe-again.js';
import { MoreFormats1765497600000 } from './0020-0029/0022-more-formats.js';
import { Waveforms1765584000000 } from './0020-0029/0023-waveforms.js';
import { RequestErrors1765670400000 } from './0020-0029/0024-request-errors.js';
import { RequiredMigrations1765756800000 } from './0020-0029/0025-required-migrations.js';
import { UploadReservations1795521600000 } from './0020-0029/0026-upload-reservations.js';
import { WaitingAccounts1795521700000 } from './0020-0029/0027-waiting-accounts.js';

const CORE: Migration[] = [
  Initial1763683200000,
  AccountEpoch1763769600000,
  UsageCountersAndOpenKinds1763856000000,
  Quotas1764028800000,
  FairQueues1764201600000,
  RemovedWebhooks1764288000000,
  ObjectRemovalAttempts1764374400000,
  CredentialLineage1764547200000,
  PreviousWebhookSecrets1764633600000,
  EventFeed1764720000000,
  DeliveryLog1764806400000,
  Corrections1764892800000,
  RecordingSearch1764979200000,
  UsageBreakdowns1765152000000,
  UsageBreakdownBackfill1765238400000,
  VocabularyAndEngines1765324800000,
  TranscribeAgain1765411200000,
  MoreFormats1765497600000,
  Waveforms1765584000000,
  RequestErrors1765670400000,
  RequiredMigrations1765756800000,
  UploadReservations1795521600000,
  WaitingAccounts1795521700000,
];

/** Every migration in the order in which they run: those of the core, then those of each extension. */
export function migrationsOf(extensions: Extension[]): Migration[] {
  return [...CORE, ...extensions.flatMap(({ migrations }) => migrations ?? [])];
}
