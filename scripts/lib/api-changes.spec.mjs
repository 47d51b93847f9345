import { apiChanges, missingInChangelog } from './api-changes.mjs';

const text = { type: 'string' };

const document = ({ view = {}, required = ['id'], body = {}, needed = [], parameters = [], ...more } = {}) => ({
  paths: {
    '/v1/notes/{note_id}': {
      put: {
        'x-required-scope': 'notes:write',
        parameters,
        requestBody: {
          content: { 'application/json': { schema: { type: 'object', required: needed, properties: body } } },
        },
        responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/NoteView' } } } } },
        ...more,
      },
    },
  },
  components: { schemas: { NoteView: { type: 'object', required, properties: { id: text, ...view } } } },
});

const breaksOf = (before, after) =>
  apiChanges(document(before), document(after)).breaks.map(({ name, what }) => `${name} ${what}`);

const query = (name, more = {}) => ({ name, in: 'query', schema: text, ...more });
const answers = (responses) => ({ responses });
const empty = { description: '' };

describe('what breaks a client', () => {
  it.each([
    ['a field of an answer is gone', { view: { at: text } }, {}, 'at is gone'],
    [
      'a field is not always there',
      { view: { at: text }, required: ['at'] },
      { view: { at: text }, required: [] },
      'at is not always there',
    ],
    ['a field can be null', { view: { at: text } }, { view: { at: { type: ['string', 'null'] } } }, 'at can be null'],
    [
      'a field has another type',
      { view: { at: { type: 'integer' } } },
      { view: { at: { type: 'number' } } },
      'at can be number',
    ],
    [
      'an item has another type',
      { view: { all: { type: 'array', items: text } } },
      { view: { all: { type: 'array', items: { type: 'integer' } } } },
      'all[] can be integer',
    ],
    [
      'a value of an answer is gone',
      { view: { at: { enum: ['a', 'b'] } } },
      { view: { at: { enum: ['a'] } } },
      'at is never "b" any more',
    ],
    ['a field of a request is gone', { body: { at: text } }, {}, 'at is not taken any more'],
    [
      'a field of a request is required',
      { body: { at: text } },
      { body: { at: text }, needed: ['at'] },
      'at is required now',
    ],
    ['a new field of a request is required', {}, { body: { at: text }, needed: ['at'] }, 'at is required now'],
    [
      'a value of a request is refused',
      { body: { at: { enum: ['a', 'b'] } } },
      { body: { at: { enum: ['a'] } } },
      'at cannot be "b" any more',
    ],
    [
      'null is refused',
      { body: { at: { type: 'string', nullable: true } } },
      { body: { at: text } },
      'at cannot be null any more',
    ],
    [
      'less is taken',
      { body: { at: { ...text, maxLength: 9 } } },
      { body: { at: { ...text, maxLength: 8 } } },
      'at has a narrower maxLength',
    ],
    [
      'a pattern is asked for',
      { body: { at: text } },
      { body: { at: { ...text, pattern: 'a' } } },
      'at has a narrower pattern',
    ],
    ['a parameter is gone', { parameters: [query('q')] }, {}, 'q is not taken any more'],
    ['a new parameter is required', {}, { parameters: [query('q', { required: true })] }, 'q is required now'],
    ['a status is another one', answers({ 200: empty }), answers({ 202: empty }), '200 is not answered any more'],
    [
      'a header is gone',
      answers({ 200: { headers: { ETag: { required: true } } } }),
      answers({ 200: empty }),
      'ETag is not always sent with 200',
    ],
    ['another scope is asked for', {}, { 'x-required-scope': 'notes:admin' }, 'scope is another one'],
  ])('%s', (_title, before, after, expected) => {
    expect(breaksOf(before, after)).toEqual([expected]);
  });

  it('an operation or a webhook is gone', () => {
    const content = { 'application/json': { schema: { type: 'object', properties: { id: text } } } };
    const before = { ...document(), webhooks: { 'note.ready': { post: { requestBody: { content } } } } };
    expect(apiChanges(before, { paths: {} }).breaks).toEqual([
      { operation: 'PUT /v1/notes/{note_id}', name: '', what: 'is gone' },
      { operation: 'webhook note.ready', name: '', what: 'is gone' },
    ]);
    const other = { 'application/json': { schema: { type: 'object', properties: {} } } };
    const after = { ...before, webhooks: { 'note.ready': { post: { requestBody: { content: other } } } } };
    expect(apiChanges(before, after).breaks).toEqual([
      { operation: 'webhook note.ready', name: 'id', what: 'is gone' },
    ]);
  });
});

describe('what breaks nobody', () => {
  it.each([
    ['nothing', {}, {}],
    ['a new field of an answer', {}, { view: { at: text }, required: ['id', 'at'] }],
    ['a new value of an answer', { view: { at: { enum: ['a'] } } }, { view: { at: { enum: ['a', 'b'] } } }],
    ['a field that is never null any more', { view: { at: { type: ['string', 'null'] } } }, { view: { at: text } }],
    ['a new optional field of a request', {}, { body: { at: text } }],
    [
      'a request that may be longer',
      { body: { at: { ...text, maxLength: 8 } } },
      { body: { at: { ...text, maxLength: 9 } } },
    ],
    ['a new optional parameter', {}, { parameters: [query('q')] }],
    ['an error that is not answered any more', answers({ 200: empty, 409: empty }), answers({ 200: empty })],
    [
      'null as OpenAPI 3.1 writes it',
      { view: { at: { ...text, enum: ['a'], nullable: true } } },
      { view: { at: { type: ['string', 'null'], enum: ['a', null] } } },
    ],
    [
      'an object for each alternative',
      {
        body: {
          one: { type: 'object', properties: { a: text, b: text }, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
        },
      },
      {
        body: {
          one: {
            oneOf: [
              { type: 'object', required: ['a'], properties: { a: text } },
              { type: 'object', required: ['b'], properties: { b: text } },
            ],
          },
        },
      },
    ],
    [
      'a reference that may be null, in either form',
      { view: { at: { allOf: [{ type: 'object', properties: { a: text } }], nullable: true } } },
      { view: { at: { oneOf: [{ type: 'object', properties: { a: text } }, { type: 'null' }] } } },
    ],
    [
      'an object whose fields are named',
      { view: { at: { type: 'object' } } },
      { view: { at: { oneOf: [{ type: 'object', properties: { a: text } }] } } },
    ],
  ])('%s', (_title, before, after) => {
    expect(breaksOf(before, after)).toEqual([]);
  });

  it('another name of a schema', () => {
    const renamed = JSON.parse(JSON.stringify(document()).replaceAll('NoteView', 'Note'));
    expect(apiChanges(document(), renamed)).toEqual({ breaks: [], added: [] });
  });
});

describe('what the change log has to say', () => {
  const changes = {
    added: ['GET /v1/notes/{note_id}/tags', 'GET /v1/notes'],
    breaks: [{ operation: 'PUT /v1/notes/{note_id}', name: 'at', what: 'is gone' }],
  };
  const log = (unreleased, released = '') =>
    `# Changelog\n\n## [Unreleased]\n\n${unreleased}\n## [0.1.0]\n\n${released}`;

  it('names new operations and breaks', () => {
    const said = log(
      '### Added\n\n- `GET\n  /v1/notes/{id}/tags`, and `GET /v1/notes`.\n\n### Breaking\n\n- `PUT /v1/notes/{id}`: `at` is gone.\n',
    );
    expect(missingInChangelog(changes, said)).toEqual([]);
  });

  it('is missed where it is elsewhere, or of another operation', () => {
    const elsewhere = '- `GET /v1/notes/{id}/tags`, `GET /v1/notes`. `PUT /v1/notes/{id}`: `at` is gone.';
    expect(missingInChangelog(changes, log('### Added\n', elsewhere))).toHaveLength(3);
    expect(missingInChangelog(changes, log(`### Added\n\n${elsewhere}\n`))).toEqual([
      'PUT /v1/notes/{note_id}: at is gone, which breaks clients. Undo it, or list it in CHANGELOG.md, Unreleased, ### Breaking',
    ]);
    const longer = '### Added\n\n- `GET /v1/notes/{id}/tags`.\n\n### Breaking\n\n- `PUT /v1/notes/{id}`: `at`.\n';
    expect(missingInChangelog(changes, log(longer))).toEqual([
      'CHANGELOG.md, Unreleased: name the new operation GET /v1/notes',
    ]);
  });
});
