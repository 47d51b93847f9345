import { asError, asksTooMuch, isForNow } from './openai.refusal.js';
import type { ServerReply } from './openai.server.js';
import { AudioRejectedError, EngineError } from '../transcription-engine.js';

const ADDRESS = 'http://stt.internal:8080/v1';
const KEY = 'sk-secret-key';

function reply(status: number, json?: unknown, text: string | null = null): ServerReply {
  return { status, json, text, retryAfterMs: null };
}

const error = (answer: ServerReply) => asError(answer, ADDRESS, KEY);

describe('a refusal', () => {
  it.each([
    [400, { error: { message: 'Audio file is too short.' } }, 'Audio file is too short.'],
    [415, { detail: 'Unsupported media' }, 'Unsupported media'],
    [422, { detail: [{ loc: ['body', 'file'], msg: 'bad' }] }, '[{"loc":["body","file"],"msg":"bad"}]'],
    [400, { error: 'failed to read audio data' }, 'failed to read audio data'],
    [400, { object: 'error', message: 'Unsupported language', code: 400 }, 'Unsupported language'],
  ])('%d is for good, with the words of the server', (status, json, words) => {
    expect(error(reply(status, json))).toBeInstanceOf(AudioRejectedError);
    expect(error(reply(status, json)).message).toBe(`The transcription server refused the audio: ${words}`);
  });

  it('of size is for good', () => {
    expect(error(reply(413, undefined))).toBeInstanceOf(AudioRejectedError);
  });

  it.each([
    [400, { error: { message: 'invalid model ID', type: 'invalid_request_error' } }],
    [400, { error: { message: 'nope', param: 'model' } }],
    [404, { error: { message: 'The model `x` does not exist', code: 'model_not_found' } }],
    [404, undefined],
  ])('%d about model or address is the operator’s to mend, and no fault of the audio', (status, json) => {
    const fault = error(reply(status, json));
    expect(fault).toBeInstanceOf(EngineError);
    expect(fault).toMatchObject({ audioSuspected: false });
    expect(fault.message).toContain('OPENAI_MODEL');
    expect(fault.message).toContain(ADDRESS);
  });

  it.each([402, 403, 405, 409, 418, 429, 500, 503])('%d may pass', (status) => {
    expect(error(reply(status))).toBeInstanceOf(EngineError);
    expect(error(reply(status))).toMatchObject({ audioSuspected: false });
  });

  it('of the key names the variable and nothing that the server said', () => {
    const fault = error(reply(401, { error: { message: `Incorrect API key provided: ${KEY}` } }));
    expect(fault.message).toBe(`The transcription server ${ADDRESS} refused the key: check OPENAI_API_KEY.`);
  });

  it('never tells the key, nor more than a line', () => {
    const { message } = error(reply(400, { error: `bad ${KEY}\n\u0000${'x'.repeat(1000)}` }));
    expect(message).not.toContain(KEY);
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message.length).toBeLessThan(260);
  });
});

describe('asksTooMuch', () => {
  it.each([
    [400, { error: { message: "response_format 'verbose_json' is not compatible", param: 'response_format' } }],
    [400, { message: 'Currently only support response_format `text` or `json`' }],
    [422, { detail: [{ loc: ['body', 'response_format'], msg: 'Input should be text or json' }] }],
    [400, { error: { message: 'logprobs are not supported', param: 'include' } }],
  ])('%d %j', (status, json) => {
    expect(asksTooMuch(reply(status, json))).toBe(true);
  });

  it('is not every refusal', () => {
    expect(asksTooMuch(reply(400, { error: { message: 'Audio file is too short.' } }))).toBe(false);
    expect(asksTooMuch(reply(500, { error: { message: 'response_format' } }))).toBe(false);
  });
});

describe('isForNow', () => {
  it.each([408, 425, 429, 500, 502, 503, 504, 529])('%d', (status) => {
    expect(isForNow(reply(status))).toBe(true);
  });

  it.each([400, 401, 403, 404, 413, 415, 422])('not %d', (status) => {
    expect(isForNow(reply(status))).toBe(false);
  });

  it('not 429 of an account without credit', () => {
    expect(isForNow(reply(429, { error: { code: 'insufficient_quota' } }))).toBe(false);
  });
});
