import { AudioRejectedError, EngineError, EngineUnavailableError } from '../transcription-engine.js';
import type { OpenAiResponse } from './openai.client.js';
import { isTooDetailed, isTransient, toEngineError } from './openai.errors.js';

const ADDRESS = 'http://stt.internal:8080/v1';
const KEY = 'sk-secret-key';

function response(status: number, json?: unknown, text: string | null = null): OpenAiResponse {
  return { status, json, text, retryAfterMs: null };
}

const error = (received: OpenAiResponse) => toEngineError(received, ADDRESS, KEY);

describe('toEngineError', () => {
  it.each([
    [400, { error: { message: 'Audio file is too short.' } }, 'Audio file is too short.'],
    [415, { detail: 'Unsupported media' }, 'Unsupported media'],
    [422, { detail: [{ loc: ['body', 'file'], msg: 'bad' }] }, '[{"loc":["body","file"],"msg":"bad"}]'],
    [400, { error: 'failed to read audio data' }, 'failed to read audio data'],
    [400, { object: 'error', message: 'Unsupported language', code: 400 }, 'Unsupported language'],
  ])('%d rejects the audio, with the message of the server', (status, json, message) => {
    expect(error(response(status, json))).toBeInstanceOf(AudioRejectedError);
    expect(error(response(status, json)).message).toBe(`The transcription server refused the audio: ${message}`);
  });

  it('413 rejects the audio', () => {
    expect(error(response(413, undefined))).toBeInstanceOf(AudioRejectedError);
  });

  it.each([
    [400, { error: { message: 'invalid model ID', type: 'invalid_request_error' } }],
    [400, { error: { message: 'nope', param: 'model' } }],
    [404, { error: { message: 'The model `x` does not exist', code: 'model_not_found' } }],
    [404, undefined],
  ])('%d about the model or address names the variables and does not suspect the audio', (status, json) => {
    const refusal = error(response(status, json));
    expect(refusal).toBeInstanceOf(EngineUnavailableError);
    expect(refusal).toMatchObject({ audioSuspected: false });
    expect(refusal.message).toContain('OPENAI_MODEL');
    expect(refusal.message).toContain(ADDRESS);
  });

  it.each([401, 402, 403, 404, 429, 502, 503, 504])('%d is about every recording, not about this one', (status) => {
    expect(error(response(status))).toBeInstanceOf(EngineUnavailableError);
  });

  it.each([405, 409, 418, 500])('%d may be about this recording', (status) => {
    expect(error(response(status))).not.toBeInstanceOf(EngineUnavailableError);
  });

  it.each([402, 403, 405, 409, 418, 429, 500, 503])('%d is an EngineError', (status) => {
    expect(error(response(status))).toBeInstanceOf(EngineError);
    expect(error(response(status))).toMatchObject({ audioSuspected: false });
  });

  it('401 names the variable and hides the message of the server', () => {
    const refusal = error(response(401, { error: { message: `Incorrect API key provided: ${KEY}` } }));
    expect(refusal.message).toBe(`The transcription server ${ADDRESS} refused the key: check OPENAI_API_KEY.`);
  });

  it('never contains the key, nor more than one line', () => {
    const { message } = error(response(400, { error: `bad ${KEY}\n\u0000${'x'.repeat(1000)}` }));
    expect(message).not.toContain(KEY);
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message.length).toBeLessThan(260);
  });
});

describe('isTooDetailed', () => {
  it.each([
    [400, { error: { message: "response_format 'verbose_json' is not compatible", param: 'response_format' } }],
    [400, { message: 'Currently only support response_format `text` or `json`' }],
    [422, { detail: [{ loc: ['body', 'response_format'], msg: 'Input should be text or json' }] }],
    [400, { error: { message: 'logprobs are not supported', param: 'include' } }],
  ])('%d %j', (status, json) => {
    expect(isTooDetailed(response(status, json))).toBe(true);
  });

  it('is false for other errors', () => {
    expect(isTooDetailed(response(400, { error: { message: 'Audio file is too short.' } }))).toBe(false);
    expect(isTooDetailed(response(500, { error: { message: 'response_format' } }))).toBe(false);
  });
});

describe('isTransient', () => {
  it.each([408, 425, 429, 500, 502, 503, 504, 529])('%d', (status) => {
    expect(isTransient(response(status))).toBe(true);
  });

  it.each([400, 401, 403, 404, 413, 415, 422])('is false for %d', (status) => {
    expect(isTransient(response(status))).toBe(false);
  });

  it('is false for 429 of an account without credit', () => {
    expect(isTransient(response(429, { error: { code: 'insufficient_quota' } }))).toBe(false);
  });
});
