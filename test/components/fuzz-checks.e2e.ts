import { complaints, flawsOf, type FuzzAnswer } from '../support/fuzz/judgement.js';
import { type DescribedOperation, operationsOf, readDocument } from '../support/fuzz/description.js';
import { fuzz, untested } from '../support/fuzz/fuzz.js';
import type { Plan } from '../support/fuzz/plan.js';

/** Without a service: invented responses show that the checks of the fuzzer find every kind of error. */
const operations = operationsOf(readDocument());
const named = (name: string): DescribedOperation => {
  const operation = operations.find((one) => one.name === name);
  if (!operation) throw new Error(`${name} is not in the document`);
  return operation;
};

const ACCOUNT = named('GET /v1/account');
const LIST = named('GET /v1/webhooks');
const CREATE_TOKEN = named('POST /v1/account/access-tokens');
const DELETE = named('DELETE /v1/webhooks/{webhook_id}');

const HEADERS = {
  'x-ratelimit-limit': '1000',
  'x-ratelimit-remaining': '999',
  'x-ratelimit-reset': '1773480536',
  'x-request-id': 'abc',
};
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const PERIOD = { recordings_count: 0, total_duration_seconds: 0, storage_used_bytes: 0 };
const BODY = {
  id: '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d',
  name: 'Acme',
  email: 'ops@acme.example',
  status: 'active',
  plan: 'free',
  created_at: '2026-01-05T08:00:00',
  updated_at: '2026-01-05T08:00:00',
  uri: '/v1/account',
  usage: { current_month: PERIOD, previous_month: PERIOD },
};
const REFUSAL = { error: { code: 2001, message: 'wrong', type: 'ValidationError', details: {} } };

const answerOf = (body: object | string, changes: Partial<FuzzAnswer> = {}): FuzzAnswer => ({
  status: 200,
  headers: { ...HEADERS, ...JSON_TYPE },
  text: typeof body === 'string' ? body : JSON.stringify(body),
  afterMs: 3,
  ...changes,
});

describe('the check of an answer', () => {
  it('has nothing to say about answers as documented', () => {
    expect(complaints(ACCOUNT, answerOf(BODY))).toEqual([]);
    expect(complaints(ACCOUNT, answerOf(REFUSAL, { status: 400 }))).toEqual([]);
    expect(complaints(DELETE, answerOf('', { status: 204, headers: HEADERS }))).toEqual([]);
  });

  it.each<[what: string, answer: FuzzAnswer, complaint: RegExp]>([
    ['a field that is missing', answerOf({ ...BODY, name: undefined }), /required property 'name'/],
    ['a field too many', answerOf({ ...BODY, password: 'x' }), /additional properties: password/],
    [
      'a field too many further down',
      answerOf({ ...BODY, usage: { ...BODY.usage, current_month: { ...PERIOD, cost: 1 } } }),
      /current_month .*additional properties: cost/,
    ],
    ['a field of another type', answerOf({ ...BODY, id: 7 }), /\/id must be string/],
    ['a null where there is none', answerOf({ ...BODY, email: null }), /\/email must be string/],
    ['a value that is not in the enum', answerOf({ ...BODY, plan: 'gold' }), /\/plan must be equal to one of/],
    ['an id of another form', answerOf({ ...BODY, id: 'x' }), /\/id must match format "uuid"/],
    ['no JSON', answerOf('<html>'), /no JSON/],
    ['another content type', answerOf(BODY, { headers: { ...HEADERS, 'content-type': 'text/html' } }), /content type/],
    ['an undocumented status', answerOf(BODY, { status: 202 }), /202 is not documented/],
    ['an error as a success', answerOf(REFUSAL), /does not fit its schema/],
    ['a 500', answerOf({ error: { ...REFUSAL.error, code: 5001, type: 'InternalError' } }, { status: 500 }), /defect/],
    ['a 429', answerOf(REFUSAL, { status: 429 }), /exhaust/],
    [
      'an error without its envelope',
      answerOf({ message: 'Bad Request', statusCode: 400 }, { status: 400 }),
      /'error'/,
    ],
    ['an error of another status', answerOf(REFUSAL, { status: 404 }), /not documented/],
    ['a type with the code of another', answerOf({ error: { ...REFUSAL.error, code: 3001 } }, { status: 400 }), /code/],
    ['a stack', answerOf({ ...BODY, name: 'Error\n    at x (node_modules/y.js:1:1)' }), /insides/],
    ['no rate limit headers', answerOf(BODY, { headers: JSON_TYPE }), /x-ratelimit-remaining is undefined/],
    ['an answer that takes long', answerOf(BODY, { afterMs: 9000 }), /took 9000 ms/],
  ])('notices %s', (_, answer, complaint) => {
    expect(complaints(ACCOUNT, answer).join('\n')).toMatch(complaint);
  });

  it('notices a body where there is none', () => {
    expect(complaints(DELETE, answerOf({}, { status: 204 })).join()).toMatch(/without a body/);
  });
});

describe('the judgement on a request', () => {
  const PLAN: Plan = { credentials: 'pair', ids: {}, query: [], headers: {}, body: null };
  const json = (text: string): Plan => ({ ...PLAN, body: { kind: 'json', text, contentType: 'application/json' } });

  it.each<[what: string, operation: DescribedOperation, plan: Plan, isWrong: boolean]>([
    ['no parameters', LIST, PLAN, false],
    [
      'all parameters',
      LIST,
      {
        ...PLAN,
        query: [
          ['limit', '100'],
          ['status', 'active'],
        ],
      },
      false,
    ],
    ['out of range', LIST, { ...PLAN, query: [['limit', '101']] }, true],
    ['no integer', LIST, { ...PLAN, query: [['page', '1e3']] }, true],
    ['not in the enum', LIST, { ...PLAN, query: [['status', 'ACTIVE']] }, true],
    [
      'a parameter twice',
      LIST,
      {
        ...PLAN,
        query: [
          ['page', '0'],
          ['page', '0'],
        ],
      },
      true,
    ],
    ['an unknown parameter', LIST, { ...PLAN, query: [['offset', '0']] }, true],
    ['a body as documented', CREATE_TOKEN, json('{"identity":"a","expires_in":60}'), false],
    ['a field that is missing', CREATE_TOKEN, json('{}'), true],
    ['an unknown field', CREATE_TOKEN, json('{"identity":"a","__proto__":1}'), true],
    ['a number too large', CREATE_TOKEN, json('{"identity":"a","expires_in":1e309}'), true],
    ['a null', CREATE_TOKEN, json('{"identity":null}'), true],
    ['a text too long', CREATE_TOKEN, json(JSON.stringify({ identity: '𝕏'.repeat(256) })), true],
    ['no JSON', CREATE_TOKEN, json('{'), true],
    ['no body', CREATE_TOKEN, PLAN, true],
  ])('%s', (_, operation, plan, isWrong) => {
    expect(flawsOf(operation, plan).reasons.length > 0).toBe(isWrong);
  });

  it('expects 401 without credentials, 403 with an access token and 404 for rows of other accounts', () => {
    expect(flawsOf(LIST, { ...PLAN, credentials: 'none' }).statuses).toEqual([401]);
    expect(flawsOf(LIST, { ...PLAN, credentials: 'token' }).statuses).toEqual([403]);
    expect(flawsOf(DELETE, { ...PLAN, ids: { webhook_id: { kind: 'foreign' } } }).statuses).toEqual([404]);
  });
});

describe('a run', () => {
  const REQUEST = { method: 'GET', target: '/', headers: {}, body: null };
  const run = (answer: (plan: Plan) => FuzzAnswer) => {
    let plan: Plan;
    return fuzz(
      [LIST],
      {
        prepare: (_, planned) => {
          plan = planned;
          return Promise.resolve(REQUEST);
        },
        send: () => Promise.resolve(answer(plan)),
      },
      { seed: 1, requests: 300 },
    );
  };

  it('reports the smallest request that an over-tolerant service takes', async () => {
    const page = { webhooks: [], uri: '', first_page_uri: '', next_page_uri: null, previous_page_uri: null };
    const { failures } = await run(() => answerOf({ ...page, page: 0, page_size: 0, total: 0 }));

    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatch(/^GET \/v1\/webhooks\n {2}accepted, though it is wrong: /);
  });

  it('is not content when an operation was never taken', async () => {
    const report = await run(() => answerOf(REFUSAL, { status: 400 }));

    expect(untested(report)).toEqual([LIST.name]);
  });

  it('fails when there is no answer', async () => {
    const { failures } = await run(() => {
      throw new Error('ECONNRESET');
    });

    expect(failures[0]).toMatch(/no answer: ECONNRESET/);
  });
});
