import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { VoiceNotes } from '../../index.js';
import type { Connection } from '../profiles/connection.js';
import { stateFolder, writePrivately } from '../profiles/folders.js';
import { ALIVE } from './receiver.js';

interface ListenerRecord {
  service: string;
  key: string;
  /** Of the webhook: it has a random path, so that the webhook is found without its id. */
  url: string;
  /** Where the listener answers while it lives. */
  local_url: string;
}

const PROBE_MS = 1000;

/**
 * Listeners that may have left a webhook behind. A record is written before the webhook is created, so that a run that
 * is killed at any moment leaves nothing that the next run does not find.
 */
export class ListenerRecords {
  private readonly folder = join(stateFolder(), 'listeners');

  constructor(
    private readonly client: VoiceNotes,
    private readonly connection: Connection,
  ) {}

  /** @returns a function that removes the record */
  async add(url: string, localUrl: string): Promise<() => Promise<void>> {
    const file = join(this.folder, `${randomUUID()}.json`);
    const record: ListenerRecord = { service: this.connection.url, key: this.connection.key, url, local_url: localUrl };
    await writePrivately(file, `${JSON.stringify(record)}\n`);
    return () => rm(file, { force: true });
  }

  /** Deletes the webhooks of runs that were killed. @returns how many there were */
  async removeLeftovers(): Promise<number> {
    let removed = 0;
    for (const { file, record } of await this.dead()) {
      removed += await this.removeWebhooks(record.url);
      await rm(file, { force: true });
    }
    return removed;
  }

  /** Deletes the webhooks that have this URL. */
  async removeWebhooks(url: string): Promise<number> {
    const ids: string[] = [];
    for await (const webhook of this.client.webhooks.list({ limit: 100 }))
      if (webhook.url === url) ids.push(webhook.id);
    for (const id of ids) await this.client.webhooks.delete(id);
    return ids.length;
  }

  /** Those of this key and service that answer no more. */
  private async dead(): Promise<{ file: string; record: ListenerRecord }[]> {
    const names = await readdir(this.folder).catch(() => []);
    const all = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => this.read(name)));
    const ours = all.filter((entry) => entry !== null);
    const alive = await Promise.all(ours.map(({ record }) => isAlive(record.local_url)));
    return ours.filter((_entry, index) => !alive[index]);
  }

  private async read(name: string): Promise<{ file: string; record: ListenerRecord } | null> {
    const file = join(this.folder, name);
    try {
      const record = JSON.parse(await readFile(file, 'utf8')) as ListenerRecord;
      const { url, key } = this.connection;
      return record.service === url && record.key === key ? { file, record } : null;
    } catch {
      return null;
    }
  }
}

async function isAlive(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    return (await response.text()).startsWith(ALIVE);
  } catch {
    return false;
  }
}
