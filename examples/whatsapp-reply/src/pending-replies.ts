import { readFile, rename, writeFile } from 'node:fs/promises';

/** Where a reply goes. */
export interface Sender {
  /** The number of our own side, as WhatsApp names it. */
  phoneNumberId: string;
  from: string;
  messageId: string;
}

/**
 * Who waits for which reply, in a file. A telephone number is personal data, so the service gets only the key of an
 * entry, as a tag of the recording.
 */
export class PendingReplies {
  private writing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly file: string,
    private readonly senders: Map<string, Sender>,
  ) {}

  static async open(file: string): Promise<PendingReplies> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    });
    return new PendingReplies(file, new Map(Object.entries(JSON.parse(text) as Record<string, Sender>)));
  }

  get(key: string): Sender | undefined {
    return this.senders.get(key);
  }

  async add(key: string, sender: Sender): Promise<void> {
    this.senders.set(key, sender);
    await this.save();
  }

  async remove(key: string): Promise<void> {
    this.senders.delete(key);
    await this.save();
  }

  /** One write after the other, each of all entries. A crash leaves the old file or the new one. */
  private save(): Promise<void> {
    this.writing = this.writing.catch(() => undefined).then(() => this.write());
    return this.writing;
  }

  private async write(): Promise<void> {
    await writeFile(`${this.file}.new`, JSON.stringify(Object.fromEntries(this.senders)), { mode: 0o600 });
    await rename(`${this.file}.new`, this.file);
  }
}
