import { AudioRejectedError, EngineError, EngineUnavailableError } from '../transcription-engine.js';
import { NoResponseError, type OpenAiResponse } from './openai.client.js';
import {
  describeNoResponse,
  isTooDetailed,
  isTransient,
  keyRefused,
  refusesPrompt,
  toEngineError,
} from './openai.errors.js';

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
  ])('%d rejects the audio, and keeps the message of the server to the log', (status, json, message) => {
    expect(error(response(status, json))).toBeInstanceOf(AudioRejectedError);
    expect(error(response(status, json))).toMatchObject({
      message: 'The transcription server refused the audio',
      cause: message,
    });
  });

  it('413 rejects the audio', () => {
    expect(error(response(413, undefined))).toBeInstanceOf(AudioRejectedError);
    expect(error(response(413)).message).toBe('The transcription server refused the audio as too large.');
    expect(error(response(400)).message).toBe('The transcription server refused the audio');
  });

  it.each([
    [400, { error: { message: 'invalid model ID', type: 'invalid_request_error' } }],
    [400, { error: { message: 'nope', param: 'model' } }],
    [400, { error: 'Invalid model' }],
    [400, { error: 'Unknown model name' }],
    [422, { error: 'Model whisper-9 not found' }],
    [415, { error: 'model: x is invalid' }],
    [400, { error: 'the model name is unknown' }],
    [400, { error: 'the model "x" of yours does not exist' }],
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

  it('replaces the key by a character, and joins lines with one blank', () => {
    expect(error(response(400, { error: ` bad ${KEY}\r\n\u0000\t key ` })).cause).toBe('bad … key');
    const withoutKey = toEngineError(response(500, { error: 'null is bad' }), ADDRESS, null);
    expect(withoutKey.message).toContain(': null is bad');
  });

  it('never contains the key, nor more than one line', () => {
    const { message } = toEngineError(
      response(500, { error: `bad ${KEY}, not ${KEY}\n\u0000${'x'.repeat(1000)}` }),
      'http://stt',
      KEY,
    );
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
    [415, { error: 'Unsupported FORMAT' }],
    [400, { error: 'no JSON here' }],
    [400, { error: 'timestamp_granularities' }],
    [400, { error: 'unknown include[]' }],
    [400, { error: 'LogProbs' }],
    [400, { error: { message: 'not supported', param: 'response_format' } }],
    [422, { message: 'not supported', param: 'include' }],
  ])('%d %j', (status, json) => {
    expect(isTooDetailed(response(status, json))).toBe(true);
  });

  it('is false for other errors', () => {
    expect(isTooDetailed(response(400, { error: { message: 'Audio file is too short.' } }))).toBe(false);
    expect(isTooDetailed(response(413, { error: { message: 'response_format' } }))).toBe(false);
    expect(isTooDetailed(response(400, { error: { message: 'no', param: 'language' } }))).toBe(false);
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

describe('describeNoResponse', () => {
  it.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ENOTFOUND', 'unknown host name'],
    ['EAI_AGAIN', 'host name lookup failed temporarily'],
    ['EHOSTUNREACH', 'host unreachable'],
    ['ENETUNREACH', 'network unreachable'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connection timed out'],
    ['UND_ERR_HEADERS_TIMEOUT', 'no response in time'],
    ['UND_ERR_BODY_TIMEOUT', 'response not complete in time'],
    ['RESPONSE_TOO_LONG', 'response too long'],
    ['CERT_HAS_EXPIRED', 'connection failed (CERT_HAS_EXPIRED)'],
  ])('of %s says %s', (code, cause) => {
    expect(describeNoResponse(new NoResponseError(code, null), ADDRESS)).toBe(
      `The transcription server ${ADDRESS} (OPENAI_BASE_URL) cannot be used: ${cause}.`,
    );
  });
});

describe('keyRefused', () => {
  it('tells a key that is wrong from one that is missing', () => {
    expect(keyRefused(ADDRESS, true)).toMatch(/refused the key: check OPENAI_API_KEY\.$/);
    expect(keyRefused(ADDRESS, false)).toMatch(/requires a key: set OPENAI_API_KEY\.$/);
    expect(toEngineError(response(401), ADDRESS, null).message).toBe(keyRefused(ADDRESS, false));
  });
});

describe('refusesPrompt', () => {
  it.each([
    [400, { error: { message: 'prompt is not supported' } }, true],
    [415, { error: { message: 'not supported', param: 'prompt' } }, true],
    [422, { message: 'no prompt', param: '' }, true],
    [400, { error: 'Prompt not allowed' }, true],
    [413, { error: 'prompt' }, false],
    [400, { error: { message: 'promptly refused' } }, false],
    [500, { error: { message: 'prompt' } }, false],
  ])('%s %j: %s', (status, json, refuses) => {
    expect(refusesPrompt(response(status, json))).toBe(refuses);
  });
});

describe('the message of the server in an error', () => {
  it.each([
    [{ error: { message: 'inner' }, message: 'outer' }, null, 'inner'],
    [{ error: 'as text', message: 'outer' }, null, 'as text'],
    [{ message: 'outer', detail: 'detail' }, null, 'outer'],
    [{ detail: 'detail' }, 'text', 'detail'],
    [undefined, 'text', 'text'],
  ])('of %j and %j is %s', (json, text, message) => {
    expect(error(response(500, json, text)).message).toBe(
      `The transcription server ${ADDRESS} answered 500: ${message}`,
    );
  });

  it('is cut after 200 characters', () => {
    const answered = (length: number) => error(response(500, undefined, 'x'.repeat(length))).message;
    expect(answered(200)).toMatch(/500: x{200}$/);
    expect(answered(201)).toMatch(/500: x{200}…$/);
  });

  it('names the address and the model where either may be wrong, for a model whatever the status', () => {
    expect(error(response(404)).message).toContain('answered 404 (check OPENAI_BASE_URL and OPENAI_MODEL)');
    expect(error(response(500)).message).not.toContain('OPENAI_MODEL');
    expect(error(response(500, { error: { code: 'model_not_found' } }))).toBeInstanceOf(EngineUnavailableError);
    expect(error(response(400, { error: { message: 'unknown model' } })).message).toContain('OPENAI_MODEL');
  });
});
