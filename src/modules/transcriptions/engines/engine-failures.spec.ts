import { AudioRejectedError, EngineUnavailableError } from './transcription-engine.js';
import { EngineFailureError, NoEngineError, TooLongForEngineError } from './engine-failures.js';

describe('the failures of engines', () => {
  it('tell a client which length is too long', () => {
    const { original } = new TooLongForEngineError(600);
    expect(original).toBeInstanceOf(AudioRejectedError);
    expect(original.message).toBe('The recording is longer than the maximum of 600 seconds.');
  });

  it('keep what the engine threw', () => {
    const original = new Error('no model');
    const failure = new EngineFailureError(original);
    expect(failure).toMatchObject({ name: 'EngineFailureError', message: 'no model', cause: original, original });
  });

  it('of every engine say how long to wait, and blame no recording', () => {
    const failure = new NoEngineError('openai: down', 20, true);
    expect(failure).toBeInstanceOf(EngineUnavailableError);
    expect(failure).toMatchObject({ message: 'openai: down', waitSeconds: 20, wasTried: true, audioSuspected: false });
  });
});
