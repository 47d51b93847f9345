import { isDeepStrictEqual } from 'node:util';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import DataLoader from 'dataloader';
import type { Quotas } from '../../access/plans.js';
import { differences, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail } from '../../platform/database/find-or-fail.js';
import { type ApiError, ConflictError, NotFoundError } from '../../platform/errors/errors.js';
import { EventBus } from '../../platform/database/event-bus.js';
import type { PageResult } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { ObjectRemovalsService } from '../../platform/storage/object-removals.service.js';
import { QuotasService } from './quotas.service.js';
import {
  type ListedRecording,
  isCountedByDay,
  selectPageByIndex,
  selectRecordingPage,
} from './recording-page.queries.js';
import { RecordingInclusionsService } from './recording-inclusions.service.js';
import { type Recording, recordingChange } from './recording.entity.js';
import { selectPageByLength } from './recordings-by-length.queries.js';
import { inclusionsOf, lengthOrder, type ListRecordingsQuery } from './recordings.dto.js';
import { RecordingAccepted, RecordingDeleted, RerunRequested } from './recordings.events.js';
import {
  deleteRecording,
  findRecordings,
  lockRecording,
  type RecordingKey,
  reopenFailed,
  requestRerun,
  type RunOptions,
  updateLabels,
  updateSpeakerNames,
} from './recordings.queries.js';
import { RecordingSearchService } from './search/recording-search.service.js';
import { countDeletion, countRerun, countStatusChange } from './usage-counters/usage-counters.queries.js';

// For other modules, which import no other file of the operations on recordings.
export { checkOrder, isSearch, labelsOf, ListRecordingsQuery, UpdateRecordingDto } from './recordings.dto.js';

export const alreadyProcessing = () =>
  new ConflictError('This recording is being transcribed already. Try again when that has ended.');
export const notFailed = () => new ConflictError('Only a recording with the status failed can be retried.');

export const linkForgotten = () =>
  new ConflictError('The link of this recording is no longer kept. Upload it again, with a new link or its file.');

/** It has failed before its link was fetched. */
const isWithoutAudio = ({ status, fileSizeBytes }: Recording): boolean => status === 'failed' && fileSizeBytes === 0;
export const audioDeleted = () =>
  new ConflictError('The audio of this recording has been deleted, so it cannot be transcribed again.');
export const onHold = (reason: string, since: string) =>
  new ConflictError(
    `This recording is on hold since ${since}: ${reason}. Release it first, with DELETE /v1/recordings/{recording_id}/hold.`,
  );

/** Recordings that one statement looks up. */
const MAX_BATCH = 50;

@Injectable()
export class RecordingsService implements OnModuleInit {
  /**
   * Reads that are asked for in the same turn of the event loop share a statement, because most of a statement's cost is
   * its round trip; alone, a read waits for nothing. 8 at a time take 87 µs CPU each instead of 170 (docs/performance.md,
   * docs/decisions/0008).
   */
  private readonly loader: DataLoader<RecordingKey, Recording | null>;

  constructor(
    private readonly database: DatabaseService,
    private readonly objects: ObjectRemovalsService,
    private readonly bus: EventBus,
    private readonly quotas: QuotasService,
    private readonly search: RecordingSearchService,
    private readonly inclusions: RecordingInclusionsService,
  ) {
    this.loader = new DataLoader((keys) => findRecordings(database, keys), { cache: false, maxBatchSize: MAX_BATCH });
  }

  onModuleInit(): void {
    this.inclusions.register('snippet', async ({ accountId, id }) => {
      const [snippet] = await this.search.beginnings(accountId, [id]);
      return snippet as string;
    });
  }

  /** @throws NotFoundError */
  async get(accountId: string, id: string): Promise<Recording> {
    return await findOrFail('recording', id, () => this.loader.load({ accountId, id }));
  }

  /** The recording, which cannot be deleted before the end of `tx`. @throws NotFoundError */
  async lock(tx: Tx, accountId: string, id: string): Promise<Recording> {
    return await findOrFail('recording', id, () => lockRecording(tx, { accountId, id }, 'deletion'));
  }

  /**
   * Changes the title and the tags, and what is searched of them (D75).
   * @param changes what is left out stays. @throws NotFoundError
   */
  async update(
    accountId: string,
    id: string,
    changes: Partial<Pick<Recording, 'title' | 'customTags'>>,
  ): Promise<Recording> {
    return await this.database.transact(async (tx) => {
      // What writes the text of a recording locks it, too, so that neither overwrites what the other has indexed.
      const before = await findOrFail('recording', id, () => lockRecording(tx, { accountId, id }, 'any change'));
      const { title = before.title, customTags = before.customTags } = changes;
      if (title === before.title && customTags === before.customTags) return before;
      const labels = { title, customTags };
      const changed = differences({ title: before.title, customTags: before.customTags }, labels).after;
      const change = { ...recordingChange(before, 'recording.updated'), after: { fields: Object.keys(changed) } };
      const recording = await findOrFail('recording', id, () => updateLabels(tx, { accountId, id }, labels, change));
      await this.search.relabel(tx, recording);
      return recording;
    });
  }

  /**
   * Changes the names of the speakers, and what is searched of them (D87).
   * @param names by label; those that are not given go
   * @param check throws what forbids the change; nothing of the recording changes meanwhile
   * @throws NotFoundError
   */
  async nameSpeakers(
    accountId: string,
    id: string,
    names: Record<string, string>,
    check: (tx: Tx, recording: Recording) => Promise<void>,
  ): Promise<void> {
    await this.database.transact(async (tx) => {
      const before = await findOrFail('recording', id, () => lockRecording(tx, { accountId, id }, 'any change'));
      await check(tx, before);
      if (isDeepStrictEqual(names, before.speakerNames ?? {})) return;
      const speakerNames = Object.keys(names).length === 0 ? null : names;
      const recording = await findOrFail('recording', id, () =>
        updateSpeakerNames(tx, { accountId, id }, speakerNames),
      );
      await this.search.relabel(tx, recording);
      await recordChanges(tx, recordingChange(recording, 'recording.speakers_named'));
    });
  }

  /** With a `snippet` in each recording only where it is included. */
  async list(
    accountId: string,
    query: ListRecordingsQuery,
  ): Promise<PageResult<ListedRecording & { snippet?: string }>> {
    const page = await this.selectPage(accountId, query);
    if (!inclusionsOf(query).includes('snippet')) return page;
    const ids = page.items.map(({ id }) => id);
    const snippets = await this.search.beginnings(accountId, ids);
    return { ...page, items: page.items.map((recording, i) => ({ ...recording, snippet: snippets[i] })) };
  }

  private async selectPage(accountId: string, query: ListRecordingsQuery): Promise<PageResult<ListedRecording>> {
    const order = lengthOrder(query);
    if (order !== null) return await selectPageByLength(this.database, accountId, query, order);
    const select = isCountedByDay(query) ? selectRecordingPage : selectPageByIndex;
    return await select(this.database, accountId, query);
  }

  /**
   * Opens a new run of a failed recording.
   * @throws NotFoundError, ConflictError when it has not failed, QuotaExceededError when its audio cannot be queued
   */
  async retry(accountId: string, id: string, quotas: Quotas): Promise<Recording> {
    const before = await this.get(accountId, id);
    return await this.database.transact(async (tx) => {
      const recording = await this.reopen(tx, accountId, id, {}, quotas);
      if (!recording)
        throw await this.refusalOfRun(accountId, id, isWithoutAudio(before) ? linkForgotten() : notFailed());
      await recordChanges(tx, recordingChange(recording, 'recording.retried'));
      return recording;
    });
  }

  /**
   * Opens a new run of a failed recording, or puts a transcribed one into the queue, whose text stays until it has
   * another (D49).
   * @throws NotFoundError, ConflictError while it is to be transcribed, QuotaExceededError as `retry`
   */
  async transcribeAgain(accountId: string, id: string, options: RunOptions, quotas: Quotas): Promise<Recording> {
    const before = await this.get(accountId, id);
    return await this.database.transact(async (tx) => {
      const recording =
        (await this.rerun(tx, accountId, id, options, quotas)) ??
        (await this.reopen(tx, accountId, id, options, quotas));
      if (!recording) {
        const refusal = isWithoutAudio(before) ? linkForgotten() : alreadyProcessing();
        throw await this.refusalOfRun(accountId, id, refusal);
      }
      const { vocabulary: _, ...asked } = options;
      await recordChanges(tx, { ...recordingChange(recording, 'recording.transcribed_again'), after: asked });
      return recording;
    });
  }

  /** Read again, because the audio may have been deleted meanwhile. */
  private async refusalOfRun(accountId: string, id: string, otherwise: ConflictError): Promise<ApiError> {
    const { audioDeletedAt } = await this.get(accountId, id);
    return audioDeletedAt ? audioDeleted() : otherwise;
  }

  private async reopen(
    tx: Tx,
    accountId: string,
    id: string,
    options: RunOptions,
    quotas: Quotas,
  ): Promise<Recording | null> {
    const recording = await reopenFailed(tx, { accountId, id }, options);
    if (!recording) return null;
    // Its audio was counted in the month of its upload.
    await this.enforce(tx, recording, { ...quotas, audioSecondsPerMonth: null });
    await countStatusChange(tx, recording, 'failed', 'processing', 0);
    await this.bus.emit(new RecordingAccepted(recording, null, recording.fileSizeBytes === 0), tx);
    return recording;
  }

  private async rerun(
    tx: Tx,
    accountId: string,
    id: string,
    options: RunOptions,
    quotas: Quotas,
  ): Promise<Recording | null> {
    const recording = await requestRerun(tx, { accountId, id }, options);
    if (!recording) return null;
    await this.enforce(tx, recording, quotas);
    await countRerun(tx, recording);
    await this.bus.emit(new RerunRequested(recording), tx);
    return recording;
  }

  /** The audio is stored already. @throws QuotaExceededError */
  private async enforce(tx: Tx, { accountId, durationMs }: Recording, quotas: Quotas): Promise<void> {
    const demand = { bytes: 0, monthMs: durationMs, queuedMs: durationMs };
    await this.quotas.enforce(tx, accountId, { ...quotas, storedBytes: null }, demand);
  }

  /** In every status: the row, the rows that belong to it, and the audio. @throws NotFoundError, ConflictError on hold */
  async delete(accountId: string, id: string): Promise<void> {
    await this.get(accountId, id);
    if (!(await this.deleteIfPresent(accountId, id))) throw await this.refusalOfDeletion(accountId, id);
  }

  /** As `delete`. @returns whether it was there, and not on hold. */
  async deleteIfPresent(accountId: string, id: string): Promise<boolean> {
    return await this.database.transact(async (tx) => {
      const recording = await deleteRecording(tx, { accountId, id });
      if (!recording) return false;
      await countDeletion(tx, recording);
      if (recording.audioDeletedAt === null) await this.objects.discard(tx, recording.objectKey);
      await this.bus.emit(new RecordingDeleted(recording), tx);
      await recordChanges(tx, recordingChange(recording, 'recording.deleted'));
      return true;
    });
  }

  /** @throws NotFoundError when it was deleted meanwhile */
  private async refusalOfDeletion(accountId: string, id: string): Promise<ApiError> {
    const { heldAt, holdReason } = await this.get(accountId, id);
    // Released since: as if it had been deleted a moment later.
    return heldAt ? onHold(holdReason ?? '', resourceTime(heldAt)) : new NotFoundError('recording');
  }
}
