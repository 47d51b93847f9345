import type { Extension } from '../extension.js';
import type { Migration } from '../platform/database/data-source.js';
import { InitialSchema1763683200000 } from './0001-initial-schema.js';
import { ValidateConstraints1795500000000 } from './0002-validate-constraints.js';
import { UploadReservations1795521600000 } from './0003-upload-reservations.js';
import { WaitingAccounts1795521700000 } from './0004-waiting-accounts.js';
import { Languages1795600000000 } from './0005-languages.js';
import { RecordingLinks1795600100000 } from './0006-recording-links.js';
import { RecordingTitles1795600200000 } from './0007-recording-titles.js';
import { TranscriptionPartials1795600250000 } from './0008-transcription-partials.js';
import { Retention1795600300000 } from './0009-retention.js';
import { TestAccounts1795600400000 } from './0010-test-accounts.js';
import { Speakers1795600500000 } from './0011-speakers.js';
import { LiveRecordings1795600700000 } from './0013-live-recordings.js';
import { LiveWords1795600800000 } from './0014-live-words.js';
import { KeyAddresses1795600900000 } from './0015-key-addresses.js';
import { LiveCuts1795601000000 } from './0016-live-cuts.js';
import { TokenIssuers1795601100000 } from './0017-token-issuers.js';
import { Shares1795601200000 } from './0018-shares.js';
import { People1795601300000 } from './0019-people.js';
import { AuditLog1795601400000 } from './0020-audit-log.js';
import { MakersOfLinks1795601450000 } from './0021-makers-of-links.js';
import { Identities1795601600000 } from './0022-identities.js';
import { Passkeys1795601800000 } from './0024-passkeys.js';
import { SignInMails1795601900000 } from './0025-sign-in-mails.js';
import { AccountExports1795602000000 } from './0026-account-exports.js';
import { LengthOrder1795602100000 } from './0027-length-order.js';
import { StorageKeys1795602200000 } from './0028-storage-keys.js';
import { Backups1795602400000 } from './0030-backups.js';
import { AuditFilters1795602500000 } from './0031-audit-filters.js';

const CORE: Migration[] = [
  InitialSchema1763683200000,
  ValidateConstraints1795500000000,
  UploadReservations1795521600000,
  WaitingAccounts1795521700000,
  Languages1795600000000,
  RecordingLinks1795600100000,
  RecordingTitles1795600200000,
  TranscriptionPartials1795600250000,
  Retention1795600300000,
  TestAccounts1795600400000,
  Speakers1795600500000,
  LiveRecordings1795600700000,
  LiveWords1795600800000,
  KeyAddresses1795600900000,
  LiveCuts1795601000000,
  TokenIssuers1795601100000,
  Shares1795601200000,
  People1795601300000,
  AuditLog1795601400000,
  MakersOfLinks1795601450000,
  Identities1795601600000,
  Passkeys1795601800000,
  SignInMails1795601900000,
  AccountExports1795602000000,
  LengthOrder1795602100000,
  StorageKeys1795602200000,
  Backups1795602400000,
  AuditFilters1795602500000,
];

/** Every migration in the order in which they run: those of the core, then those of each extension. */
export function migrationsOf(extensions: Extension[]): Migration[] {
  return [...CORE, ...extensions.flatMap(({ migrations }) => migrations ?? [])];
}
