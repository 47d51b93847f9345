import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CatalogueEntry } from '../../../src/modules/models/catalogue-entries.js';
import { type PullContext, type PulledModel, pullModel } from '../../../src/modules/models/pull-model.js';
import { type DownloadTiming, SourceClient } from '../../../src/modules/models/source-client.js';
import { InstalledModels } from '../../../src/modules/models/installed-models.js';
import { ModelSource } from '../servers/model-source.js';
import { sampleModel } from './sample-model.js';

const TIMING: DownloadTiming = {
  // A busy machine must not be taken for a source that does not answer.
  connectMs: 30_000,
  stallMs: 30_000,
  firstPauseMs: 5,
  longestPauseMs: 20,
  longestRetryAfterMs: 50,
  tries: 4,
};
/** A model of {@link FILES}. */
export const ENTRY: CatalogueEntry = {
  name: 'small',
  title: 'Small',
  kind: 'nemo-ctc',
  languages: ['en'],
  licence: null,
  speed: 'fast',
  approximateBytes: null,
  repository: 'acme/small',
  revision: 'main',
  files: ['model.int8.onnx', 'tokens.txt'],
};

/** The small model, as files of a repository. */
export const FILES = sampleModel();

/** An empty folder of models, and a source to pull from. */
export class PullSetup {
  source: ModelSource;
  readonly root = mkdtempSync(path.join(tmpdir(), 'voice-notes-pull-'));
  readonly models = new InstalledModels(this.root);
  /** What the command would have printed. */
  readonly said: string[] = [];

  static async start(): Promise<PullSetup> {
    const setup = new PullSetup();
    setup.source = await ModelSource.start();
    return setup;
  }

  async stop(): Promise<void> {
    await this.source.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  async pull(
    changes: Partial<PullContext> & { hfToken?: string; entry?: CatalogueEntry; url?: string; stallMs?: number } = {},
  ): Promise<PulledModel> {
    const {
      hfToken = null,
      entry = ENTRY,
      url = this.source.url,
      stallMs = TIMING.stallMs,
      onProgress,
      ...context
    } = changes;
    const client = new SourceClient({ modelsUrl: url, hfToken }, { ...TIMING, stallMs });
    try {
      return await pullModel(this.models, entry, {
        client,
        signal: new AbortController().signal,
        // The large file comes first, so that these are its bytes.
        onProgress: (received, total) => {
          this.source.noteRead(received);
          onProgress?.(received, total);
        },
        onRetry: ({ message }) => this.said.push(message),
        onWait: (holder) => this.said.push(`waiting for ${holder}`),
        ...context,
      });
    } finally {
      await client.close();
    }
  }

  /** Also that nothing is left behind. */
  expectInstalled(): void {
    const installed = readFileSync(path.join(this.root, 'small', 'model.int8.onnx'));
    expect(installed.equals(FILES['model.int8.onnx'] ?? Buffer.alloc(0))).toBe(true);
    expect(readdirSync(path.join(this.root, 'small')).toSorted()).toEqual([
      'model.int8.onnx',
      'model.json',
      'tokens.txt',
    ]);
    expect(readdirSync(path.join(this.root, '.work'))).toEqual([]);
    expect(readdirSync(path.join(this.root, '.locks'))).toEqual([]);
  }
}
