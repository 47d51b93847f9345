import type { SandboxMode } from '../../../platform/config/env.js';
import { EngineUnavailableError } from '../engines/transcription-engine.js';
import { LiveChildren } from './live-children.js';
import type { LiveRecogniser } from './live-recogniser.js';
import type { StreamingModel } from './streaming-model.js';
import { StreamingRecogniser } from './streaming.recogniser.js';

/** A streaming model and the processes that run it, each for one speaker at a time. */
export class StreamingEngine {
  private readonly children: LiveChildren;
  private sessions = 0;

  constructor(
    private readonly model: StreamingModel,
    sandbox: SandboxMode = 'auto',
  ) {
    this.children = new LiveChildren(model.module, sandbox);
  }

  get name(): string {
    return this.model.provider;
  }

  get processes(): number {
    return this.children.size;
  }

  speaks(languages: readonly string[]): boolean {
    const own = this.model.languages;
    return own === 'any' || languages.every((each) => own.includes(each));
  }

  /** For one speaker. The caller closes it. @throws EngineUnavailableError that says why not, for an operator */
  async open(): Promise<LiveRecogniser> {
    const { maxSessions } = this.model;
    if (this.sessions >= maxSessions) {
      throw new EngineUnavailableError(`As many speak as there is memory for: ${maxSessions}.`);
    }
    const closed = (): number => this.sessions--;
    this.sessions++;
    const problem = await this.children.problem();
    if (problem === null) return new StreamingRecogniser(this.children, this.model, closed);
    closed();
    throw new EngineUnavailableError(problem);
  }

  async close(): Promise<void> {
    await this.children.close();
  }
}
