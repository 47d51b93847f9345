import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** A file for child processes, in a folder of its own. It goes with this process, unless that is killed. */
export class TemporaryFile {
  readonly path: string;
  private readonly removeAtExit = (): void => this.remove();

  constructor(content: string) {
    this.path = path.join(mkdtempSync(path.join(os.tmpdir(), 'voice-notes-')), 'file');
    writeFileSync(this.path, content, { mode: 0o600 });
    process.once('exit', this.removeAtExit);
  }

  remove(): void {
    process.off('exit', this.removeAtExit);
    rmSync(path.dirname(this.path), { recursive: true, force: true });
  }
}
