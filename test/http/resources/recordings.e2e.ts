import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import request, { type Test } from 'supertest';
import { type Lease, RecordingLeasesService } from '../../../src/modules/recordings/leases/recording-leases.service.js';
import { RecordingSearchService } from '../../../src/modules/recordings/search/recording-search.service.js';
import { SearchBackfillService } from '../../../src/modules/recordings/search/search-backfill.service.js';
import { PartialTextsService } from '../../../src/modules/transcriptions/partial-texts.service.js';
import { TranscriptionsService } from '../../../src/modules/transcriptions/transcriptions.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech } from '../../../src/testing/speech.js';
import { useService } from '../../../src/testing/test-service.js';
import { garbage, silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError, expectHeaders, expectInvalid, statusesOf } from '../../support/http/expect-errors.js';
import { envelope, walk } from '../../support/http/list-parameters.js';
import { filePart, form, FORM_TYPE, textPart } from '../../support/http/multipart.js';
import {
  CREATED_RECORDING,
  pageOf,
  RECORDING,
  SINGLE_RECORDING,
  TITLED_RECORDING,
} from '../../support/http/response-shapes.js';
import { seedNotes } from '../../support/state/many-notes.js';
import { backdate, claimRecording, fail, transcribe, upload } from '../../support/state/recording-states.js';
import { uploadState } from '../../support/state/upload-state.js';

const RECORDINGS = '/v1/recordings';
const NOTE = silenceWav(0.1);

/** What a recording is before a worker has looked at it, apart from what its file says. */
const FRESH = {
  user_id: null,
  status: 'processing',
  features: null,
  client_ip: '127.0.0.1',
  user_agent: null,
  upload_source: 'api',
  custom_tags: null,
  processed_at: null,
};

const service = useService({ ROLES: 'api' });
let client: ApiClient;

beforeEach(async () => {
  client = await service.account();
});

describe('recordings', () => {
  const { environment } = service;

  /** A form as it stands on the wire. */
  const post = (body: Buffer | string, type = FORM_TYPE): Test =>
    request(service.url).post(RECORDINGS).set(client.headers).set('Content-Type', type).send(body);

  const total = async (query = '') => (await client.get(`${RECORDINGS}${query}`).expect(200)).body.total as number;

  describe('upload', () => {
    it('answers 201 with the single shape, a code and a Location (D20, D22, D25)', async () => {
      const answer = await client.upload(NOTE, {}, 'note.wav').set('User-Agent', 'Recorder/1.0').expect(201);
      const { id, created_at: createdAt } = answer.body;

      const [year, month] = createdAt.split('-');
      const expected: Record<string, unknown> = {
        ...CREATED_RECORDING,
        ...FRESH,
        id,
        tenant_id: client.accountId,
        user_agent: 'Recorder/1.0',
        original_filename: 'note.wav',
        s3_key: `${client.accountId}/${year}/${month}/${id}.wav`,
        s3_bucket: 'voice-notes',
        duration_seconds: 0.1,
        file_size_bytes: NOTE.length,
        audio_format: 'wav',
        sample_rate: 16_000,
        channels: 1,
        bit_rate: 256_000,
        audio_codec: 'pcm_s16le',
        updated_at: createdAt,
        uri: `${RECORDINGS}/${id}`,
        subresource_uris: { transcription: `${RECORDINGS}/${id}/transcription` },
      };
      expect(answer.body).toStrictEqual(expected);
      expect(answer.headers.location).toBe(`${RECORDINGS}/${id}`);
      expect(answer.headers).not.toHaveProperty('idempotent-replayed');
      expectHeaders(answer);
      const { code: _, ...single } = expected;
      expect((await client.get(answer.headers.location as string).expect(200)).body).toStrictEqual(single);
    });

    it('has the source that X-Upload-Source names: api, or the console (D22)', async () => {
      const { body } = await client.upload(NOTE).set('X-Upload-Source', 'console').expect(201);
      expect(body.upload_source).toBe('console');
      const refused = await client.upload(NOTE).set('X-Upload-Source', 'access_token');
      expectInvalid(refused, 'X-Upload-Source', /must be one of api, console/);
    });

    it('tells formats by their content, whatever name and type say, and measures them (D21, D22)', () =>
      checkRows<[format: string, facts: object]>(
        [
          ['wav', { sample_rate: 16_000, audio_codec: 'pcm_s16le', bit_rate: 256_000 }],
          ['mp3', { sample_rate: 44_100, audio_codec: 'mp3', bit_rate: 64_000 }],
          ['ogg', { sample_rate: 48_000, audio_codec: 'opus', bit_rate: expect.any(Number) }],
          ['webm', { sample_rate: 48_000, audio_codec: 'opus' }],
        ],
        async (format, facts) => {
          const bytes = await speech(`go-forward-ten-meters.${format}`);
          const { body } = await post(form(filePart(bytes, 'holiday.png', 'file', 'image/png'))).expect(201);
          expect(body).toStrictEqual({
            ...CREATED_RECORDING,
            ...FRESH,
            original_filename: 'holiday.png',
            audio_format: format,
            file_size_bytes: bytes.length,
            channels: 1,
            ...facts,
          });
          expect(body.s3_key).toMatch(new RegExp(`\\.${format}$`));
          expect(Math.abs(body.duration_seconds - 2.786)).toBeLessThan(0.02);
        },
      ));

    it('takes what looks right and cannot be decoded; its length is 0 (D21)', async () => {
      const { body } = await client.upload(garbage('wav', 1)).expect(201);

      expect(body).toMatchObject({ status: 'processing', duration_seconds: 0, bit_rate: null });
    });

    it('takes the name of a language in any case, and nothing else (D20)', async () => {
      for (const language of ['GERMAN', 'haitian creole']) await client.upload(NOTE, { language }).expect(201);
      for (const language of ['klingonese', 'en', '', 'english, german']) {
        expectInvalid(await post(form(filePart(NOTE), textPart('language', language))), 'language');
      }
    });
  });

  describe('custom_tags (2.4, D28)', () => {
    const tags = (json: string): Test => post(form(filePart(NOTE), textPart('custom_tags', json)));

    it('are kept as they were sent, in their order, wherever they are shown', () =>
      checkRows<[what: string, json: string]>(
        [
          ['an empty object, which stays one', '{}'],
          ['an empty value', '{"k":""}'],
          ['128 code points', `{"k":"${'🎙'.repeat(128)}"}`],
          ['keys that look like numbers', '{"b":"1","10":"2","2":"3","a":"4"}'],
          ['keys that mean something to JavaScript', '{"__proto__":"p","constructor":"c","toString":"t"}'],
          ['a value with quotes and backslashes', '{"k":"\\"\\\\/"}'],
        ],
        async (_, json) => {
          const created = await tags(json).expect(201);
          const [single, list] = [await client.get(created.body.uri), await client.get(RECORDINGS)];
          for (const { text } of [created, single, list]) expect(text).toContain(`"custom_tags":${json},`);
        },
      ));

    it('are refused with their key and rule, and nothing is kept', async () => {
      expectInvalid(await tags('{"a b":"v"}'), 'custom_tags', /"a b".*A-Z a-z 0-9 _ -/);
      expectInvalid(await tags('{"count":1}'), 'custom_tags', /"count" must be a string/);
      expectInvalid(await tags('["a"]'), 'custom_tags', /JSON object/);
      expect(await total()).toBe(0);
    });
  });

  describe('Idempotency-Key (D20)', () => {
    const again = (key: string, fields: Record<string, string> = {}, note = NOTE, by = client): Test =>
      by.upload(note, fields).set('Idempotency-Key', key);

    it('answers a repeated upload with the first one’s recording, 201 and Idempotent-Replayed', async () => {
      const fields = { custom_tags: '{"a":"b"}', language: 'english' };
      const first = await again('key-1', fields).expect(201);
      expect(first.headers).not.toHaveProperty('idempotent-replayed');
      const second = await again('key-1', { ...fields, language: 'ENGLISH' }).expect(201);

      expect(second.headers).toMatchObject({ 'idempotent-replayed': 'true', location: first.body.uri });
      expect(second.body).toEqual(first.body);
      expect(await total()).toBe(1);
      expectHeaders(second);
    });

    it('shows the recording as it is by then', async () => {
      const { body: first } = await again('key-1').expect(201);
      await transcribe(service, first.id);
      const { body } = await again('key-1').expect(201);

      expect(body).toMatchObject({ id: first.id, status: 'transcribed', code: 'RECORDING_CREATED' });
    });

    it('makes one recording of the same upload ten times at once, and keeps one object', async () => {
      const before = await uploadState(service, environment);
      const answers = await Promise.all(Array.from({ length: 10 }, () => again('key-1').expect(201)));

      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      expect(answers.filter(({ headers }) => headers['idempotent-replayed'] !== 'true')).toHaveLength(1);
      expect(await total()).toBe(1);
      const after = await eventually(async () => {
        const now = await uploadState(service, environment);
        return now.removals.length === 0 && now.spooled.length === 0 && now;
      });
      expect(after.objects.length - before.objects.length).toBe(1);
      const { body: account } = await client.get('/v1/account');
      expect(account.usage.current_month.recordings_count).toBe(1);
    });

    it('is 409 for another upload under the same key: bytes, language, languages, tags or vocabulary', async () => {
      await again('key-1').expect(201);
      await checkRows<[what: string, fields: Record<string, string>, note?: Buffer]>(
        [
          ['bytes', {}, silenceWav(0.2)],
          ['language', { language: 'german' }],
          ['tags', { custom_tags: '{"a":"b"}' }],
          ['vocabulary', { vocabulary: '["Grafana"]' }],
          ['languages', { languages: 'english,german' }],
        ],
        async (_, fields, note) => expectError(await again('key-1', fields, note), 'ConflictError'),
      );
      expect(await total()).toBe(1);
    });

    it('lets one of several different uploads at once have the key', async () => {
      const notes = [0.1, 0.2, 0.3, 0.4].map((seconds) => silenceWav(seconds));
      const answers = await Promise.all(notes.map((note) => again('key-1', {}, note)));

      expect(statusesOf(answers)).toEqual([201, 409, 409, 409]);
      expect(await total()).toBe(1);
    });

    it('is 409 when the recording has been deleted', async () => {
      const { body } = await again('key-1').expect(201);
      await client.delete(body.uri).expect(204);

      expectError(await again('key-1'), 'ConflictError');
      expect(await total()).toBe(0);
    });

    it('belongs to one account and one identity', async () => {
      const ids = new Set([(await again('key-1').expect(201)).body.id]);
      ids.add((await again('key-1', {}, silenceWav(0.2), await service.account()).expect(201)).body.id);
      for (const identity of ['user-1', 'user-2']) {
        const { body } = await client.post('/v1/account/access-tokens', { identity }).expect(201);
        const sent = () => again('key-1').set('Authorization', `Bearer ${body.token}`).expect(201);
        ids.add((await sent()).body.id);
        ids.add((await sent()).body.id);
      }
      expect(ids.size).toBe(4);
    });

    it('is forgotten after 24 h', async () => {
      const { body: first } = await again('key-1').expect(201);
      await service.database.query(
        `UPDATE idempotency_keys SET created_at = now() - interval '24 hours 1 minute' WHERE account_id = $1`,
        [client.accountId],
      );
      const { body: second, headers } = await again('key-1', {}, silenceWav(0.2)).expect(201);

      expect(second.id).not.toBe(first.id);
      expect(headers).not.toHaveProperty('idempotent-replayed');

      // From then on it stands for the second one.
      const repeat = await again('key-1', {}, silenceWav(0.2)).expect(201).expect('Idempotent-Replayed', 'true');
      expect(repeat.body.id).toBe(second.id);
    });

    it('is not used up by a refused upload', async () => {
      await again('key-1', { language: 'klingonese' }).expect(400);

      expect((await again('key-1').expect(201)).headers).not.toHaveProperty('idempotent-replayed');
    });

    it('takes 1 to 255 printable characters', async () => {
      await again(`${'k'.repeat(127)} ${'~'.repeat(127)}`).expect(201);
      for (const key of ['', 'k'.repeat(256), 'é', 'a\tb']) expectInvalid(await again(key), 'Idempotency-Key');
    });
  });

  describe('list', () => {
    it('answers with a page of recordings, newest first, in exactly their shape (2.6, D17)', async () => {
      const [first, second] = [await upload(client), await upload(client, { custom_tags: '{"a":"b"}' })];
      const answer = await client.get(RECORDINGS).expect(200);

      expect(answer.body).toStrictEqual({ ...pageOf('recordings'), ...envelope(RECORDINGS, { size: 2, total: 2 }) });
      const own = { ...RECORDING, ...FRESH, tenant_id: client.accountId };
      expect(answer.body.recordings).toStrictEqual([
        { ...own, id: second, custom_tags: { a: 'b' } },
        { ...own, id: first },
      ]);
      expectHeaders(answer);
    });

    it('is ordered by time of creation and then by id, not by id alone (D17)', async () => {
      const [old, a, b] = [await upload(client), await upload(client), await upload(client)];
      await service.database.query(`UPDATE recordings SET created_at = '2026-01-01' WHERE id = ANY ($1)`, [[a, b]]);
      await service.database.query(`UPDATE recordings SET created_at = '2026-01-02' WHERE id = $1`, [old]);
      const { body } = await client.get(RECORDINGS).expect(200);

      expect(body.recordings.map(({ id }: { id: string }) => id)).toEqual([old, b, a]);
    });

    it('is walked by next_page_uri to its end, and empty past it (4.1, D17)', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.unshift(await upload(client));

      expect(await walk(client, RECORDINGS, 'recordings', { limit: 2, total: 5 })).toEqual(ids);

      const past = await client.get(`${RECORDINGS}?page=3&limit=2`).expect(200);
      expect(past.body).toStrictEqual({ recordings: [], ...envelope(RECORDINGS, { page: 3, limit: 2, total: 5 }) });
      const far = await client.get(`${RECORDINGS}?page=1000000000&limit=100`).expect(200);
      expect(far.body).toMatchObject({ recordings: [], total: 5, next_page_uri: null });
    });

    it('can be narrowed to a status, in the very moment in which it is reached (D19)', async () => {
      const [waiting, transcribed, broken] = [await upload(client), await upload(client), await upload(client)];
      await transcribe(service, transcribed);
      await fail(service, broken);
      const expected = { processing: waiting, transcribed, failed: broken };

      for (const [status, id] of Object.entries(expected)) {
        const { body } = await client.get(`${RECORDINGS}?status=${status}`).expect(200);
        expect(body).toMatchObject(envelope(RECORDINGS, { size: 1, total: 1, filters: `&status=${status}` }));
        expect(body.recordings).toMatchObject([{ id, status }]);
      }
    });

    it('can be narrowed to UTC days, both inclusive, to times, and to several filters at once (D18, D101)', async () => {
      const times = [
        '2026-02-28T23:59:59.999Z',
        '2026-03-01T00:00:00Z',
        '2026-03-01T23:59:59.999Z',
        '2026-03-02T00:00:00Z',
      ];
      const ids: string[] = [];
      for (const time of times) {
        ids.push(await upload(client));
        await backdate(service, ids.at(-1) as string, time);
      }
      await fail(service, ids[2] as string);
      const found = async (filters: string) => {
        const { body } = await client.get(`${RECORDINGS}?limit=3&${filters}`).expect(200);
        const items = body.recordings as { id: string }[];
        const counted = {
          limit: 3,
          size: Math.min(3, body.total),
          total: body.total,
          filters: `&${filters.replaceAll(':', '%3A')}`,
        };
        expect(body).toMatchObject(envelope(RECORDINGS, counted));
        expect(items).toHaveLength(body.page_size);
        return items.map(({ id }) => ids.indexOf(id));
      };

      expect(await found('date_from=2026-03-01&date_to=2026-03-01')).toEqual([2, 1]);
      expect(await found('date_from=2026-03-02')).toEqual([3]);
      expect(await found('date_to=2026-02-28')).toEqual([0]);
      expect(await found('date_from=2026-02-28&date_to=2026-03-02')).toEqual([3, 2, 1]);
      expect(await found('status=failed&date_from=2026-03-01&date_to=2026-03-31')).toEqual([2]);
      expect(await found('status=processing&date_to=2026-03-01')).toEqual([1, 0]);
      expect(await found('date_from=0001-01-01&date_to=9999-12-31')).toEqual([3, 2, 1]);
      expect(await found('date_from=2024-02-29&date_to=2024-02-29')).toEqual([]);

      const [from, before] = ['created_from=2026-03-01T00:00:00Z', 'created_before=2026-03-02T00:00:00Z'];
      expect(await found(`${from}&${before}`)).toEqual([2, 1]);
      expect(await found('created_from=2026-03-01T05:29:59.999%2B05:30')).toEqual([3, 2, 1]);
      expect(await found(`date_to=2026-03-01&status=processing&${from}`)).toEqual([1]);
      expect(await found(`created_before=2026-03-01T00:00:00-23:59&${from}`)).toEqual([1]);
      expect(await found('created_from=0001-01-01T00:00:00Z&created_before=9999-12-31T23:59:59Z')).toEqual([3, 2, 1]);
      for (const wrong of [
        '2026-03-01',
        '2026-03-01T00:00:00',
        '2026-02-30T00:00:00Z',
        '0001-01-01T00:00:00%2B01:00',
      ]) {
        const { body } = await client.get(`${RECORDINGS}?created_before=${wrong}`).expect(400);
        expect(body.error.details.field).toBe('created_before');
      }
      const { body } = await client.get(`${RECORDINGS}?created_from=2026-03-03T00:00:00Z&${before}`).expect(400);
      expect(body.error.details.field).toBe('created_from');
    });
  });

  describe('get', () => {
    it('answers with the single shape (2.4)', async () => {
      const id = await upload(client);
      const { body } = await client.get(`${RECORDINGS}/${id}`).expect(200);

      expect(body).toStrictEqual({ ...SINGLE_RECORDING, ...FRESH, id, tenant_id: client.accountId });
    });

    it('gives each account its own recordings under concurrency', async () => {
      const others = await Promise.all([service.account(), service.account()]);
      const askers = await Promise.all([client, ...others].map(async (asker) => ({ asker, own: await upload(asker) })));
      const questions = Array.from({ length: 120 }, (_, i) => {
        const { asker, own } = askers[i % askers.length] as (typeof askers)[number];
        const foreign = (askers[(i + 1) % askers.length] as (typeof askers)[number]).own;
        const id = [own, foreign, own, '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60'][i % 4] as string;
        return { asker, id, isOwn: id === own };
      });
      const answers = await Promise.all(questions.map(({ asker, id }) => asker.get(`${RECORDINGS}/${id}`)));
      for (const [i, { status, body }] of answers.entries()) {
        const { asker, id, isOwn } = questions[i] as (typeof questions)[number];
        if (isOwn) expect({ status, body }).toMatchObject({ status: 200, body: { id, tenant_id: asker.accountId } });
        else expectError(answers[i] as (typeof answers)[number], 'NotFoundError');
      }
    });

    it('shows what became of it: state, time, features, decoded length (D21, D22, D23)', async () => {
      const [transcribed, broken] = [await upload(client), await upload(client)];
      await transcribe(service, transcribed, { durationMs: 1234 });
      await fail(service, broken);

      expect((await client.get(`${RECORDINGS}/${transcribed}`).expect(200)).body).toStrictEqual({
        ...SINGLE_RECORDING,
        ...FRESH,
        id: transcribed,
        status: 'transcribed',
        duration_seconds: 1.234,
        features: { speech_seconds: 0.1, no_speech: false },
        processed_at: SINGLE_RECORDING.created_at,
      });
      expect((await client.get(`${RECORDINGS}/${broken}`).expect(200)).body).toStrictEqual({
        ...SINGLE_RECORDING,
        ...FRESH,
        id: broken,
        status: 'failed',
        duration_seconds: 0.1,
        processed_at: SINGLE_RECORDING.created_at,
      });
    });

    it('has its transcription and its waveform only where they are asked for, as at their own paths (D54)', async () => {
      const { body } = await client.upload(NOTE).expect(201);
      const path = `${RECORDINGS}/${body.id}`;
      const detailsOf = async (include: string) => (await client.get(`${path}?include=${include}`).expect(200)).body;
      expect(await detailsOf('transcription,waveform')).toStrictEqual({
        ...SINGLE_RECORDING,
        transcription: null,
        failure_reason: null,
        waveform: null,
      });
      await fail(service, body.id, 'It cannot be decoded');
      expect(await detailsOf('transcription')).toStrictEqual({
        ...SINGLE_RECORDING,
        transcription: null,
        failure_reason: 'It cannot be decoded',
      });
      await client.post(`${path}/retry`).expect(202);
      await transcribe(service, body.id);

      const [text, waveform] = await Promise.all([client.get(`${path}/transcription`), client.get(`${path}/waveform`)]);
      const transcription = { ...text.body, etag: text.headers.etag, version: 'original' };
      const found = await detailsOf('waveform,transcription,waveform');
      expect(found).toStrictEqual({
        ...SINGLE_RECORDING,
        transcription,
        failure_reason: null,
        waveform: waveform.body,
      });
      expect(await detailsOf('waveform')).toStrictEqual({ ...SINGLE_RECORDING, waveform: waveform.body });
      expect((await client.get(path).expect(200)).body).toStrictEqual(SINGLE_RECORDING);

      const corrected = await client
        .put(`${path}/transcription`, { text: 'Hello.' })
        .set('If-Match', transcription.etag);
      expect((await detailsOf('transcription')).transcription).toStrictEqual({
        ...corrected.body,
        etag: corrected.headers.etag,
        version: 'corrected',
      });
    });

    it('is not given with another include: 400 (D54)', async () => {
      const { body } = await client.upload(NOTE).expect(201);
      for (const include of ['', 'x', 'waveform,', 'waveform transcription', 'transcription&include=waveform']) {
        expectInvalid(await client.get(`${RECORDINGS}/${body.id}?include=${include}`), 'include');
      }
    });
  });

  describe('update (D75)', () => {
    it('gives a title, which is shown only where it is asked for, and replaces the tags', async () => {
      const id = await upload(client, { custom_tags: '{"ticket":"T-1"}' });
      const path = `${RECORDINGS}/${id}`;
      const titleOf = async () => (await client.get(`${path}?include=title`).expect(200)).body.title as string;
      const { body: uploaded } = await client.get(path).expect(200);
      expect(await titleOf()).toBe(uploaded.original_filename);

      await backdate(service, id, '2026-01-02T00:00:00Z');
      const renamed = await client.patch(path, { title: 'Grüße 日本 🎙' }).expect(200);
      expect(renamed.body).toStrictEqual({ ...TITLED_RECORDING, ...{ id, title: 'Grüße 日本 🎙' } });
      expect(renamed.body.custom_tags).toEqual({ ticket: 'T-1' });
      expect(renamed.body.updated_at > renamed.body.created_at).toBe(true);
      const tagged = await client.patch(path, { custom_tags: { b: 'x', a: '' } }).expect(200);
      expect(JSON.stringify(tagged.body.custom_tags)).toBe('{"b":"x","a":""}');
      expect(tagged.body.title).toBe('Grüße 日本 🎙');

      expect((await client.get(path).expect(200)).body).toStrictEqual(SINGLE_RECORDING);
      expect((await client.get(`${path}?include=title,waveform`).expect(200)).body).toStrictEqual({
        ...SINGLE_RECORDING,
        title: 'Grüße 日本 🎙',
        waveform: null,
      });
      const { body: list } = await client.get(`${RECORDINGS}?include=title`).expect(200);
      expect(list.recordings).toStrictEqual([{ ...RECORDING, id, title: 'Grüße 日本 🎙' }]);
      expect(list.uri).toBe(`${RECORDINGS}?page=0&limit=50&include=title`);
      expect((await client.get(RECORDINGS).expect(200)).body.recordings).toStrictEqual([RECORDING]);

      const { body: bare } = await client.patch(path, { title: null, custom_tags: null }).expect(200);
      expect([bare.title, bare.custom_tags]).toEqual([uploaded.original_filename, null]);
      const { body: event } = await client.get('/v1/events').expect(200);
      expect(event.events).toHaveLength(1);
    });

    it('takes a title with the upload, which is a part of what must be the same under a key', async () => {
      const again = (title: string) =>
        client.upload(NOTE, { title, custom_tags: '{"__proto__":"x","2":"y","1":"z"}' }).set('Idempotency-Key', 'k');
      const { body } = await again('First').expect(201);
      expect((await client.get(`${RECORDINGS}/${body.id}?include=title`).expect(200)).body.title).toBe('First');
      await again('First').expect(201);
      await again('Second').expect(409);
      // What is not named stays byte for byte.
      const { text } = await client.patch(`${RECORDINGS}/${body.id}`, { title: 'Third' }).expect(200);
      expect(text).toContain('"custom_tags":{"__proto__":"x","2":"y","1":"z"}');
      const constructor = await client
        .patch(`${RECORDINGS}/${body.id}`, JSON.parse('{"custom_tags":{"__proto__":"a","constructor":"b"}}') as object)
        .expect(200);
      expect(constructor.text).toContain('"custom_tags":{"__proto__":"a","constructor":"b"}');
    });

    it('is refused with the field and the rule, and nothing changes', async () => {
      const id = await upload(client);
      const path = `${RECORDINGS}/${id}`;
      await checkRows<[body: object, field: string, reason: string]>(
        [
          [{}, 'title', 'is required, or custom_tags'],
          [{ name: 'x' }, 'name', 'is not a field of this operation'],
          [{ title: 5 }, 'title', 'must be text of 1 to 200 characters'],
          [{ title: { constructor: 'x' } }, 'title', 'must be text of 1 to 200 characters'],
          [{ title: '' }, 'title', 'must be text of 1 to 200 characters; this has 0'],
          [{ title: ' ' }, 'title', 'must not be blank'],
          [{ title: 'a\nb' }, 'title', 'must not contain control characters or lone surrogates'],
          [{ title: '🎙'.repeat(201) }, 'title', 'must be text of 1 to 200 characters; this has 201'],
          [{ custom_tags: [] }, 'custom_tags', 'must be a JSON object, such as {"ticket":"T-1042"}'],
          [{ custom_tags: '{"a":"b"}' }, 'custom_tags', 'must be a JSON object, such as {"ticket":"T-1042"}'],
          [{ custom_tags: { a: 1 } }, 'custom_tags', 'value of "a" must be a string'],
          [{ custom_tags: { 'a b': 'c' } }, 'custom_tags', 'key "a b" may only contain A-Z a-z 0-9 _ -'],
        ],
        async (body, field, reason) => {
          const answer = await client.patch(path, body);
          expectInvalid(answer, field);
          expect(answer.body.error.details.reason).toBe(reason);
        },
      );
      const refused = await client.upload(NOTE, { title: '\u0007' });
      expectInvalid(refused, 'title');
      const merge = await client.patch(path, {}).type('application/merge-patch+json').send('{"title":"x"}');
      expectError(merge, 'MalformedRequestError');
      for (const include of ['waveform', '', 'title,', 'title, snippet', 'title&include=snippet']) {
        expectInvalid(await client.get(`${RECORDINGS}?include=${include}`), 'include');
      }
      const stranger = await service.account();
      expectError(await stranger.patch(path, { title: 'stolen' }), 'NotFoundError');
      expect((await client.get(`${path}?include=title`).expect(200)).body.title).not.toBe('stolen');
    });
  });

  describe('the text of a long one so far (D77)', () => {
    const partOf = (index: number, text: string) => ({ index, start: index * 20, end: index * 20 + 19.5, text });
    const bodies = async () => {
      const { body } = await client.get('/v1/events?limit=100').expect(200);
      const events = body.events as { event: string; body: { partial: object; recording: { status: string } } }[];
      return events.filter(({ event }) => event === 'recording.partial').map((event) => event.body);
    };

    it('is there with include=partial and in an event for each part, written once, until it ends', async () => {
      const partials = service.app.get(PartialTextsService);
      const id = await upload(client, { custom_tags: '{"ticket":"T-1"}' });
      const soFar = async () =>
        (await client.get(`${RECORDINGS}/${id}?include=partial`).expect(200)).body.partial as object | null;
      expect(await soFar()).toBeNull();
      const lease = (await claimRecording(service, id)) as Lease;
      expect(await partials.write(lease, partOf(0, 'Good morning.'))).toBe(true);
      expect(await partials.write(lease, partOf(0, 'Good morning.'))).toBe(false);
      expect(await partials.write({ ...lease, leaseToken: randomUUID() }, partOf(1, 'lost'))).toBe(false);
      await expect(partials.write({ ...lease, accountId: randomUUID() }, partOf(1, 'lost'))).rejects.toThrow();
      expect(await partials.write(lease, partOf(1, 'And now'))).toBe(true);
      expect(await partials.written(id)).toEqual({ parts: 2, end: 39.5 });
      expect(await soFar()).toEqual({ text: 'Good morning. And now', parts: 2, end: 39.5 });
      expect((await bodies()).map(({ partial }) => partial)).toEqual([
        partOf(0, 'Good morning.'),
        partOf(1, 'And now'),
      ]);
      expect((await client.get(`${RECORDINGS}/${id}`).expect(200)).body).toStrictEqual(SINGLE_RECORDING);

      await service.database.query('UPDATE recordings SET lease_until = NULL WHERE id = $1', [id]);
      await transcribe(service, id, { text: 'Good morning. And now the end.' });
      expect(await soFar()).toBeNull();
      expect(await partials.write(lease, partOf(2, 'late'))).toBe(false);
      expect(await bodies()).toHaveLength(2);

      await client.delete(`${RECORDINGS}/${id}`).expect(204);
      expect(await bodies()).toMatchObject([
        { recording: { id, custom_tags: { ticket: 'T-1' } }, partial: { index: 0, text: '' } },
        { recording: { id }, partial: { index: 1, text: '' } },
      ]);
      expect(
        await service.database.query('SELECT 1 FROM transcription_partials WHERE recording_id = $1', [id]),
      ).toEqual([]);
    });

    it('is at no webhook that did not ask for it by name, and goes with an end user', async () => {
      const subscribe = async (events: string[]): Promise<string> =>
        (await client.post('/v1/webhooks', { url: 'https://hooks.example.com/x', events }).expect(201)).body.id;
      const others = await subscribe(['recording.transcribed', 'recording.failed', 'transcription.corrected']);
      const named = await subscribe(['recording.partial']);
      const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'ada' }).expect(201);
      const { body: recording } = await request(service.url)
        .post(RECORDINGS)
        .set('Authorization', `Bearer ${token.token}`)
        .attach('file', NOTE, 'note.wav')
        .expect(201);
      const lease = (await claimRecording(service, recording.id)) as Lease;
      await service.app.get(PartialTextsService).write(lease, partOf(0, 'my name is Ada'));
      const deliveriesOf = async (id: string) =>
        (await client.get(`/v1/webhooks/${id}/deliveries`).expect(200)).body.deliveries as { event: string }[];
      expect(await deliveriesOf(others)).toEqual([]);
      expect((await deliveriesOf(named)).map(({ event }) => event)).toEqual(['recording.partial']);
      await client.delete('/v1/users/ada').expect(202);
      expect(await bodies()).toMatchObject([{ recording: { identity: null }, partial: { text: '' } }]);
    });
  });

  describe('retry (D23)', () => {
    it('answers 202 with the single shape, processing again', async () => {
      const id = await upload(client, { custom_tags: '{"a":"b"}' });
      await fail(service, id);
      const answer = await client.post(`${RECORDINGS}/${id}/retry`).expect(202);

      expect(answer.body).toStrictEqual({ ...SINGLE_RECORDING, ...FRESH, id, custom_tags: { a: 'b' } });
      expect((await client.get(`${RECORDINGS}/${id}`)).body).toEqual(answer.body);
      expect([await total('?status=failed'), await total('?status=processing')]).toEqual([0, 1]);
      expectHeaders(answer);
    });

    it('is 409 for a recording that has not failed, and succeeds once of several at the same time', async () => {
      const [id, transcribed] = [await upload(client), await upload(client)];
      await transcribe(service, transcribed);
      for (const other of [id, transcribed]) {
        expectError(await client.post(`${RECORDINGS}/${other}/retry`), 'ConflictError');
      }
      await fail(service, id);
      const answers = await Promise.all([1, 2, 3].map(() => client.post(`${RECORDINGS}/${id}/retry`)));

      expect(statusesOf(answers)).toEqual([202, 409, 409]);
      expect(await total('?status=processing')).toBe(1);
    });
  });

  describe('delete (D24)', () => {
    const objectOf = (recording: { s3_key: string }) =>
      join(environment.variables.STORAGE_DIR as string, 'objects', recording.s3_key);

    /** Row, transcription, object and the note of its removal. */
    async function expectGone(recording: { id: string; s3_key: string }): Promise<void> {
      const gone = await Promise.all([
        client.get(`${RECORDINGS}/${recording.id}`),
        client.get(`${RECORDINGS}/${recording.id}/transcription`),
        client.delete(`${RECORDINGS}/${recording.id}`),
        client.post(`${RECORDINGS}/${recording.id}/retry`),
      ]);
      for (const answer of gone) expectError(answer, 'NotFoundError');
      await eventually(async () => {
        const [left] = await service.database.query<{ count: number }>(
          `SELECT (SELECT count(*) FROM object_removals WHERE object_key = $1)::int
             + (SELECT count(*) FROM transcriptions WHERE recording_id = $2)::int AS count`,
          [recording.s3_key, recording.id],
        );
        return left?.count === 0;
      });
      await expect(access(objectOf(recording))).rejects.toMatchObject({ code: 'ENOENT' });
      expect(await total()).toBe(0);
    }

    const states: [string, (id: string) => Promise<unknown>][] = [
      ['waiting', async () => undefined],
      ['under transcription', (id) => claimRecording(service, id)],
      ['transcribed', (id) => transcribe(service, id)],
      ['failed', (id) => fail(service, id)],
      ['tried again', (id) => fail(service, id).then(() => client.post(`${RECORDINGS}/${id}/retry`).expect(202))],
    ];

    it('is 204 in every state, and the audio goes with the recording', () =>
      checkRows(states, async (_, bring) => {
        const { body: recording } = await client.upload(NOTE).expect(201);
        await bring(recording.id);
        await access(objectOf(recording));
        const answer = await client.delete(recording.uri).expect(204);
        expect(answer.text).toBe('');
        await expectGone(recording);
      }));

    it('throws away a transcription in progress, and no event follows', async () => {
      const id = await upload(client);
      const processing = service.app.get(RecordingLeasesService);
      const lease = await claimRecording(service, id);
      if (!lease) throw new Error('not claimed');
      await client.delete(`${RECORDINGS}/${id}`).expect(204);

      expect(await processing.renew(lease)).toBe(false);
      expect(await processing.finish(lease, { status: 'failed', reason: 'x' })).toBe(false);
      const kinds = await service.database.query('SELECT kind FROM events WHERE recording_id = $1 ORDER BY position', [
        id,
      ]);
      expect(kinds).toEqual([{ kind: 'recording.accepted' }, { kind: 'recording.deleted' }]);
    });

    it('succeeds once of several at the same time', async () => {
      const id = await upload(client);
      const answers = await Promise.all([1, 2, 3].map(() => client.delete(`${RECORDINGS}/${id}`)));

      expect(statusesOf(answers)).toEqual([204, 404, 404]);
      expect(await total()).toBe(0);
    });
  });
});

interface Item {
  id: string;
  created_at: string;
  snippet?: string;
}

interface Answer {
  recordings: Item[];
  total: number;
  total_is_exact?: boolean;
  next_page_uri: string | null;
}

describe('search of recordings (D43)', () => {
  const list = async (query: Record<string, string> | string, by = client): Promise<Answer> =>
    (await by.get(`/v1/recordings?${new URLSearchParams(query).toString()}`).expect(200)).body as Answer;

  const idsOf = async (query: Record<string, string> | string, by = client): Promise<string[]> =>
    (await list(query, by)).recordings.map(({ id }) => id);

  const note = async (text: string, tags?: object): Promise<string> => {
    const id = await upload(client, tags && { custom_tags: JSON.stringify(tags) });
    await transcribe(service, id, { text });
    return id;
  };

  /** As `note`, without the upload: for many. @returns the ids in the order of the texts. */
  const manyNotes = (texts: string[], by = client): Promise<string[]> =>
    seedNotes(
      service,
      by,
      texts.map((text) => ({ text })),
    );

  describe('words', () => {
    it('are found in every case and with or without accents, the newest first, with the part of the text', async () => {
      const older = await note('Le CAFÉ du coin est fermé.');
      const newer = await note('un cafe\u0301, s’il vous plaît');
      await note('décaféiné');
      for (const q of ['cafe', 'Café', 'CAFE\u0301']) expect(await idsOf({ q })).toEqual([newer, older]);
      const { recordings, total, total_is_exact: isExact } = await list({ q: 'ferme' });
      expect([total, isExact]).toEqual([1, true]);
      expect(recordings).toStrictEqual([
        { ...RECORDING, id: older, status: 'transcribed', snippet: 'Le CAFÉ du coin est fermé.' },
      ]);
    });

    it('all count: none is left out as too frequent', async () => {
      const id = await note('to be or not to be');
      await note('that is the question');
      expect(await idsOf({ q: 'to be' })).toEqual([id]);
      expect(await idsOf({ q: '"or not to"' })).toEqual([id]);
      expect(await idsOf({ q: '"not or"' })).toEqual([]);
    });

    it('follow the syntax of web searches', async () => {
      const [apples, pears, both] = await manyNotes(['red apples', 'red pears', 'apples, pears: green']);
      expect(await idsOf({ q: 'red apples' })).toEqual([apples]);
      expect(await idsOf({ q: 'red -apples' })).toEqual([pears]);
      expect(await idsOf({ q: '-red' })).toEqual([both]);
      expect(await idsOf({ q: 'green or red pears' })).toEqual([both, pears]);
      expect(await idsOf({ q: '"apples pears"' })).toEqual([both]);
      expect(await idsOf({ q: 'pears -"apples pears"' })).toEqual([pears]);
      expect(await idsOf({ q: 'or' })).toEqual([]);
    });

    it('of scripts without spaces are found wherever their characters stand together', async () => {
      const [japanese, thai, korean] = await manyNotes([
        '明日東京都に行きます。',
        'ฉันชอบกินข้าวผัด',
        '우리는 학교에 간다',
      ]);
      for (const q of ['東京', '京都', '東', '東京都に', '明日 行きます'])
        expect(await idsOf({ q })).toEqual([japanese]);
      expect(await idsOf({ q: '東都' })).toEqual([]);
      expect(await idsOf({ q: '京東都' })).toEqual([]);
      expect(await idsOf({ q: 'ข้าวผัด' })).toEqual([thai]);
      expect(await idsOf({ q: '학교' })).toEqual([korean]);
    });

    it('are found by rank if asked', async () => {
      const filler = 'and so on '.repeat(40);
      const [best, , worst] = await manyNotes(['pump, pump and pump', 'valve', `${filler} pump ${filler}`]);
      expect(await idsOf({ q: 'pump' })).toEqual([worst, best]);
      expect(await idsOf({ q: 'pump', order: 'rank' })).toEqual([best, worst]);
      expect(await idsOf({ q: 'pump', order: 'newest' })).toEqual([worst, best]);
      expect((await list({ q: '-valve', order: 'rank' })).total).toBe(2);
    });

    it('of another account are never found', async () => {
      const other = await service.account();
      await manyNotes(['confidential'], other);
      expect((await list({ q: 'confidential' })).total).toBe(0);
      expect((await list({ q: '-something' })).total).toBe(0);
      expect((await list({ q: 'confidential' }, other)).total).toBe(1);
    });
  });

  describe('titles and tags (D75)', () => {
    const rename = (id: string, fields: object) => client.patch(`${RECORDINGS}/${id}`, fields).expect(200);

    it('are found with the words of the text, in any spelling, and no longer after a change', async () => {
      const id = await note('the delivery is late', { ticket: 'T-1042', gate: 'Nordtör' });
      const other = await note('another note');
      expect(await idsOf({ q: 't-1042' })).toEqual([id]);
      expect(await idsOf({ q: 'nordtor late' })).toEqual([id]);
      await rename(id, { title: 'Straße nach İstanbul: Cafe\u0301 東京都' });
      for (const q of ['strasse', 'STRASSE', 'istanbul', 'ISTANBUL', 'Café', '京都', '"nach Istanbul"', 'late istan'])
        expect([q, await idsOf({ q })]).toEqual([q, [id]]);
      // No phrase reaches from the title into a tag or the text.
      expect(await idsOf({ q: '"東京都 t"' })).toEqual([]);
      expect(await idsOf({ q: '"nordtor the"' })).toEqual([]);
      expect(await idsOf({ q: '-istanbul' })).toEqual([other]);
      const { recordings } = await list({ q: 'istanbul', include: 'title' });
      expect(recordings).toStrictEqual([
        {
          ...RECORDING,
          id,
          title: 'Straße nach İstanbul: Cafe\u0301 東京都',
          status: 'transcribed',
          snippet: 'the delivery is late',
        },
      ]);

      await rename(id, { title: null, custom_tags: { ticket: 'T-7' } });
      for (const q of ['istanbul', '1042', 'nordtor']) expect([q, await idsOf({ q })]).toEqual([q, []]);
      expect(await idsOf({ 'tag.ticket': 'T-7', q: 'late' })).toEqual([id]);
      expect(await idsOf({ 'tag.ticket': 'T-1042' })).toEqual([]);
      await rename(id, { custom_tags: null });
      const [left] = await service.database.query<{ terms: string }>(
        'SELECT terms::text FROM search_documents WHERE recording_id = $1',
        [id],
      );
      expect(left?.terms).not.toMatch(/ticket|T-7|istanbul/);
    });

    it('are found by the beginning of the last word, of at least three letters', async () => {
      const [delivery, delivered] = await manyNotes(['the Délivery came', 'delivered to the pier']);
      expect(await idsOf({ q: 'deliv' })).toEqual([delivered, delivery]);
      expect(await idsOf({ q: 'the délivery ca' })).toEqual([]);
      expect(await idsOf({ q: 'the délivery cam' })).toEqual([delivery]);
      expect(await idsOf({ q: 'deliv the' })).toEqual([]);
      expect(await idsOf({ q: '"deliv"' })).toEqual([]);
      expect(await idsOf({ q: '-deliv' })).toEqual([delivered, delivery]);
      expect(await idsOf({ q: 'de' })).toEqual([]);
      expect(await idsOf({ q: 'the-pie' })).toEqual([delivered]);
      expect((await list({ q: 'deliv', order: 'rank' })).total).toBe(2);
    });

    it('match only with a transcription, and count more than the text for the rank', async () => {
      const waiting = await upload(client, { title: 'pump', custom_tags: '{"part":"pump"}' });
      expect(await idsOf({ q: 'pump' })).toEqual([]);
      await rename(waiting, { title: 'Pump room' });
      const text = await note('the pump, the pump');
      await transcribe(service, waiting, { text: 'words' });
      expect(await idsOf({ q: 'pump', order: 'rank' })).toEqual([waiting, text]);
      await rename(waiting, { custom_tags: null });
      const failed = await upload(client, { custom_tags: '{"part":"valve"}' });
      await rename(failed, { custom_tags: null });
      expect(await service.database.query('SELECT 1 FROM search_documents WHERE recording_id = $1', [failed])).toEqual(
        [],
      );
      await client.delete(`${RECORDINGS}/${waiting}`).expect(204);
      expect(await idsOf({ q: 'room' })).toEqual([]);
    });

    it('change at the same time as the text, and neither is lost', async () => {
      const ids: string[] = [];
      for (let i = 0; i < 4; i += 1) {
        const id = await note(`before ${i}`);
        ids.push(id);
        await Promise.all([
          rename(id, { title: 'Changed' }),
          client.put(`${RECORDINGS}/${id}/transcription`, { text: 'after' }).expect(200),
        ]);
      }
      expect(await idsOf({ q: 'after "changed"' })).toEqual(ids.toReversed());
    });
  });

  it('finds what random queries find in texts that are compared one by one', async () => {
    const words = Object.keys(SPELLINGS);
    const anyWord = fc.constantFrom(...words);
    const anyText = fc.array(anyWord, { maxLength: 14 });
    const anyPhrase = fc.record({ words: fc.array(anyWord, { minLength: 1, maxLength: 4 }), isNegative: fc.boolean() });
    const anyQuery = fc.array(fc.array(anyPhrase, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
    const texts = fc.sample(anyText, { numRuns: 150, seed: 7 });
    const ids = await manyNotes(texts.map((text) => text.map(spelled).join('')));
    const truth = (query: { words: string[]; isNegative: boolean }[][]): string[] =>
      ids.filter((_, i) => {
        const text = ` ${texts[i]?.join(' ')} `;
        const holds = (phrase: string[]): boolean => text.includes(` ${phrase.join(' ')} `);
        return query.some((all) => all.every((phrase) => holds(phrase.words) !== phrase.isNegative));
      });
    let matched = 0;
    await fc.assert(
      fc.asyncProperty(anyQuery, async (query) => {
        const q = query.map((all) => all.map(written).join(' ')).join(' or ');
        const expected = truth(query).toReversed();
        matched += expected.length;
        const { recordings, total } = await list({ q, limit: '100' });
        expect(total).toBe(expected.length);
        expect(recordings.map(({ id }) => id)).toEqual(expected.slice(0, 100));
      }),
      { numRuns: 100 },
    );
    expect(matched).toBeGreaterThan(500);
  });

  it('reads queries as websearch_to_tsquery does', async () => {
    const parts = ['ab', 'cd', 'xyz', '-ab', '"ab cd"', '-"cd xyz"', 'or', "xyz's", '"xyz', '&', '!ab', '(cd)'];
    const anyPart = fc.constantFrom(...parts);
    const texts = fc.sample(
      fc.array(fc.constantFrom('ab', 'cd', 'xyz', 's', 'or'), { minLength: 1, maxLength: 6 }),
      60,
    );
    const ids = await manyNotes(texts.map((text) => text.join(' ')));
    await fc.assert(
      fc.asyncProperty(fc.array(anyPart, { minLength: 1, maxLength: 5 }), async (chosen) => {
        // An `or` with nothing to choose from is a word here; Postgres differs with its place.
        fc.pre(
          !chosen.some(
            (part, i) =>
              part === 'or' && [undefined, 'or', '&'].some((none) => chosen[i - 1] === none || chosen[i + 1] === none),
          ),
        );
        fc.pre(chosen.some((part) => part !== '&'));
        const q = chosen.join(' ');
        const found = await service.database.query<{ i: number }>(
          `SELECT n::int AS i FROM unnest($1::text[]) WITH ORDINALITY AS t (text, n)
           WHERE to_tsvector('simple', text) @@ websearch_to_tsquery('simple', $2) ORDER BY n DESC`,
          [texts.map((text) => text.join(' ')), q],
        );
        expect({ q, ids: await idsOf({ q, limit: '100' }) }).toEqual({ q, ids: found.map(({ i }) => ids[i - 1]) });
      }),
      { numRuns: 150 },
    );
  });

  describe('filters', () => {
    it('by tags and end user agree with every other filter', async () => {
      const tagged = await note('first note', { ticket: 'T-1', 'a-b_c': 'Ä b' });
      const other = await note('second note', { ticket: 'T-2', 'a-b_c': 'Ä b' });
      const waiting = await upload(client, { custom_tags: '{"ticket":"T-1"}' });
      await note('third note');
      expect(await idsOf({ 'tag.ticket': 'T-1' })).toEqual([waiting, tagged]);
      expect(await idsOf({ 'tag.ticket': 't-1' })).toEqual([]);
      expect(await idsOf({ 'tag.a-b_c': 'Ä b' })).toEqual([other, tagged]);
      expect(await idsOf({ 'tag.a-b_c': 'Ä b', 'tag.ticket': 'T-1' })).toEqual([tagged]);
      expect(await idsOf({ 'tag.ticket': 'T-1', status: 'processing' })).toEqual([waiting]);
      expect(await idsOf({ 'tag.ticket': 'T-1', q: 'note' })).toEqual([tagged]);
      expect(await idsOf({ q: 'note', status: 'processing' })).toEqual([]);
      const today = new Date().toISOString().slice(0, 10);
      expect(await idsOf({ q: 'note', date_from: '2020-01-01', date_to: '2020-01-02' })).toEqual([]);
      expect(await idsOf({ q: 'note', 'tag.ticket': 'T-2', date_from: today })).toEqual([other]);
      const begun = new Date(Date.now() - 3_600_000).toISOString();
      expect(await idsOf({ q: 'note', 'tag.ticket': 'T-2', created_from: begun })).toEqual([other]);
      expect(await idsOf({ q: 'note', created_before: begun })).toEqual([]);

      const { recordings, ...page } = await list({ 'tag.ticket': 'T-2' });
      expect(recordings).toStrictEqual([{ ...RECORDING, id: other, status: 'transcribed' }]);
      expect(page).toMatchObject({
        total: 1,
        total_is_exact: true,
        uri: '/v1/recordings?page=0&limit=50&tag.ticket=T-2',
      });
      const plain = await list({});
      expect(plain).not.toHaveProperty('total_is_exact');
      expect(plain.recordings[0]).not.toHaveProperty('snippet');
    });

    it('have the beginning of the text where it is asked for, and around the match with words', async () => {
      const text = `${'Words that come before it. '.repeat(20)}The gate is open.`;
      const long = await note(text, { kind: 'long' });
      const waiting = await upload(client, { custom_tags: '{"kind":"long"}' });
      const beginning = `${text.slice(0, 200).replace(/\s\S*$/, '')}…`;
      const snippetsOf = async (query: Record<string, string>) =>
        (await list({ ...query, include: 'snippet' })).recordings.map(({ id, snippet }) => [id, snippet]);
      const both = [
        [waiting, ''],
        [long, beginning],
      ];
      expect(await snippetsOf({})).toEqual(both);
      expect(await snippetsOf({ 'tag.kind': 'long' })).toEqual(both);
      expect(await snippetsOf({ limit: '1', page: '1' })).toEqual(both.slice(1));
      expect(await snippetsOf({ page: '9' })).toEqual([]);
      expect(await snippetsOf({ q: 'gate' })).toEqual([[long, expect.stringMatching(/^….* gate is open\.$/)]]);

      const { recordings, ...page } = await list({ include: 'title,snippet', status: 'transcribed' });
      expect(recordings).toStrictEqual([
        { ...RECORDING, id: long, status: 'transcribed', title: 'note.wav', snippet: beginning },
      ]);
      expect(page).toMatchObject({ uri: expect.stringContaining('&include=title%2Csnippet') });
      const details = async (id: string) =>
        (await client.get(`/v1/recordings/${id}?include=snippet`).expect(200)).body as object;
      expect(await details(long)).toStrictEqual({
        ...SINGLE_RECORDING,
        id: long,
        status: 'transcribed',
        snippet: beginning,
      });
      expect(await details(waiting)).toStrictEqual({ ...SINGLE_RECORDING, id: waiting, snippet: '' });

      const { etag } = (await client.get(`/v1/recordings/${long}/transcription`).expect(200)).headers;
      const corrected = client.put(`/v1/recordings/${long}/transcription`, { text: 'Corrected.' });
      await corrected.set('If-Match', etag as string).expect(200);
      expect(await snippetsOf({ status: 'transcribed' })).toEqual([[long, 'Corrected.']]);
      const stranger = await service.account();
      expect((await list({ include: 'snippet' }, stranger)).recordings).toEqual([]);
    });

    it('by end user, page by page, with an exact total', async () => {
      const ids = await manyNotes(Array.from({ length: 7 }, (_, i) => `note ${i}`));
      await service.database.query(`UPDATE recordings SET user_id = 'ada' WHERE id = ANY ($1)`, [ids.slice(0, 5)]);
      expect(await idsOf({ user_id: 'ada' })).toEqual(ids.slice(0, 5).toReversed());
      const page = await list({ user_id: 'ada', limit: '2', page: '1' });
      expect(page.recordings.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
      expect(page).toMatchObject({ total: 5, next_page_uri: '/v1/recordings?page=2&limit=2&user_id=ada' });
      expect(page).not.toHaveProperty('total_is_exact');
      expect((await list({ user_id: 'ada', status: 'failed' })).total).toBe(0);
      expect((await list({ user_id: 'ada', date_to: '2020-01-01' })).total).toBe(0);
      expect((await list({ user_id: 'Ada' })).total).toBe(0);
      expect((await list({ user_id: 'ada' }, await service.account())).total).toBe(0);
    });

    it('find with the words of an end user only those of that user', async () => {
      const ids = await manyNotes(['a note', 'a note']);
      await service.database.query(`UPDATE recordings SET user_id = 'ada' WHERE id = $1`, [ids[0]]);
      const replace = service.app.get(RecordingSearchService);
      await service.database.transact((tx) => replace.replace(tx, client.accountId, ids[0] as string, 'a note'));
      expect(await idsOf({ q: 'note', user_id: 'ada' })).toEqual([ids[0]]);
    });
  });

  it('is paged to the end, also past the 10,000 results that are counted', async () => {
    const ids = await manyNotes(Array.from({ length: 20 }, (_, i) => `page ${i}`));
    const first = ids[0] as string;
    // 10,100 more that are older, by 28 hours: the rows of one, again and again.
    await service.database.query(
      `WITH copies AS (
         INSERT INTO recordings (id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
           audio_format, upload_source, status, features, processed_at, created_at, updated_at)
         SELECT gen_random_uuid(), account_id, 'a.wav', id::text || n, 'b', 1, 1, 'wav', 'api', 'transcribed', '{}', now(),
           created_at - make_interval(secs => n * 10), now()
         FROM recordings, generate_series(1, 10100) n WHERE id = $1 RETURNING id, account_id, created_at)
       INSERT INTO search_documents SELECT c.id, c.account_id, c.created_at, s.terms, s.folded, s.text
       FROM copies c, search_documents s WHERE s.recording_id = $1`,
      [first],
    );
    const page = (number: number, more = {}): Promise<Answer> =>
      list({ q: 'page', limit: '100', page: `${number}`, ...more });
    const start = await page(0);
    expect(start.recordings.slice(0, 20).map(({ id }) => id)).toEqual(ids.toReversed());
    expect(start).toMatchObject({
      total: 10_000,
      total_is_exact: false,
      next_page_uri: '/v1/recordings?page=1&limit=100&q=page',
    });
    const { recordings: newest } = start;
    const lastDay = newest[0]?.created_at.slice(0, 10) as string;
    const untilThen = await list({ q: 'page', limit: '10', date_to: lastDay });
    expect(untilThen.recordings).toEqual(newest.slice(0, 10));
    expect(await page(100)).toMatchObject({
      page_size: 100,
      next_page_uri: '/v1/recordings?page=101&limit=100&q=page',
    });
    expect(await page(101)).toMatchObject({ page_size: 20, next_page_uri: null });
    expect(await page(102)).toMatchObject({ page_size: 0, next_page_uri: null });
    expect(await page(100, { order: 'rank' })).toMatchObject({ page_size: 0, next_page_uri: null, total: 10_000 });
    expect(await page(99, { order: 'rank' })).toMatchObject({ page_size: 100, next_page_uri: null });
    expect(await list({ q: 'page 19', limit: '1' })).toMatchObject({ total: 1, total_is_exact: true });
  });

  it('shows what a change of the text and a delete leave, at once', async () => {
    const id = await note('the old text', { ticket: 'T-1' });
    const search = service.app.get(RecordingSearchService);
    await service.database.transact((tx) => search.replace(tx, client.accountId, id, 'the new words'));
    expect(await idsOf({ q: 'old' })).toEqual([]);
    expect((await list({ q: 'new', 'tag.ticket': 'T-1' })).recordings[0]?.snippet).toBe('the new words');
    const stranger = await service.account();
    await service.database.transact((tx) => search.replace(tx, stranger.accountId, id, 'stolen'));
    expect(await idsOf({ q: 'new' })).toEqual([id]);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    expect(await idsOf({ q: 'new' })).toEqual([]);
    expect(await service.database.query('SELECT 1 FROM search_documents WHERE recording_id = $1', [id])).toEqual([]);
  });

  it('indexes recordings of earlier releases, and says until then that totals are not exact', async () => {
    const ids = [await note('an early note'), await upload(client, { custom_tags: '{"ticket":"T-9"}' })];
    const tagged = await upload(client, { custom_tags: '{"ticket":"T-8"}' });
    const { database, app } = service;
    const [ofTags] = await database.query<{ terms: string }>(
      'SELECT terms::text FROM search_documents WHERE recording_id = $1',
      [tagged],
    );
    await transcribe(service, tagged, { text: 'an early note with a tag' });
    await database.query('DELETE FROM search_documents WHERE account_id = $1 AND recording_id <> $2', [
      client.accountId,
      tagged,
    ]);
    // Its tags were indexed with its upload, and an earlier release has transcribed it.
    await database.query(
      'UPDATE search_documents SET terms = $2::tsvector, folded = NULL, text = NULL WHERE recording_id = $1',
      [tagged, ofTags?.terms],
    );
    await database.query('UPDATE search_backfill SET passes_left = 2, before_id = NULL, next_at = now()');
    const backfill = new SearchBackfillService(database);
    expect(await backfill.isComplete()).toBe(false);
    // Of the other tests as well: a call indexes for a second.
    await eventually(async () => {
      await backfill.run((wanted) => app.get(TranscriptionsService).textsOf(wanted));
      return await backfill.isComplete();
    });
    expect(await idsOf({ q: 'early' })).toEqual([tagged, ids[0]]);
    expect(await idsOf({ 'tag.ticket': 'T-9' })).toEqual([ids[1]]);
    // An earlier release has indexed the text and the tags, but not the words of the tags.
    await database.query(
      `UPDATE search_documents SET terms = ts_delete(terms, ARRAY(
         SELECT lexeme FROM unnest(terms) WHERE lexeme LIKE '%+' OR lexeme LIKE '%8')) WHERE recording_id = $1`,
      [tagged],
    );
    expect(await idsOf({ q: 'T-8' })).toEqual([]);
    await database.query('UPDATE search_backfill SET next_at = now()');
    await eventually(async () => {
      await backfill.run((wanted) => app.get(TranscriptionsService).textsOf(wanted));
      return (await idsOf({ q: 'T-8' })).includes(tagged);
    });
    await database.query('UPDATE search_backfill SET next_at = now() + make_interval(days => 1), passes_left = 1');
    expect(await database.query(`SELECT passes_left AS left FROM search_backfill WHERE next_at > now()`)).toEqual([
      { left: 1 },
    ]);
  });

  it('takes any transcript, and finds the words at its start', async () => {
    const different = Array.from({ length: 200_000 }, (_, i) => `wort${i}`).join(' ');
    const run = String.fromCodePoint(...Array.from({ length: 20_000 }, (_, i) => 0x4e00 + i)).repeat(10);
    const ids = await manyNotes([
      different,
      run,
      'a '.repeat(300_000),
      'x'.repeat(1_000_000),
      `'"\\ \u0001 \uffff`,
      '',
    ]);
    expect(await idsOf({ q: 'wort7 wort1000' })).toEqual([ids[0]]);
    expect(await idsOf({ q: '一丁' })).toEqual([ids[1]]);
    expect(await idsOf({ q: 'x'.repeat(900) })).toEqual([]);
    expect((await list({ q: '-wort7' })).total).toBe(5);
  });

  it('answers hostile queries with the rule, or quickly', async () => {
    await manyNotes(['a note']);
    const get = (query: string) => client.get(`/v1/recordings?${query}`);
    await checkRows<[query: string, field: string]>(
      [
        ['q=', 'q'],
        ['q=a&q=b', 'q'],
        ['q=a%00b', 'q'],
        ['q=%22%22', 'q'],
        [`q=${encodeURIComponent('& | ! <-> ( ) : * \\ \' "')}`, 'q'],
        [`q=${'a'.repeat(1001)}`, 'q'],
        [`q=${'a+'.repeat(51)}`, 'q'],
        ['order=rank', 'order'],
        ['order=rank&tag.a=b', 'order'],
        ['q=a&order=best', 'order'],
        ['user_id=', 'user_id'],
        ['user_id=a&user_id=b', 'user_id'],
        [`user_id=${'a'.repeat(256)}`, 'user_id'],
        ['tag.=x', 'tag.'],
        ['tag.a%20b=x', 'tag.a b'],
        ['tag.a=1&tag.a=2', 'tag.a'],
        [`tag.a=${'x'.repeat(129)}`, 'tag.a'],
        ['tag.a=%00', 'tag.a'],
        [Array.from({ length: 11 }, (_, i) => `tag.k${i}=v`).join('&'), 'tag.k10'],
      ],
      async (query, field) => expectInvalid(await get(query), field),
    );
    const harmless = ["'; DROP TABLE recordings; --", '.*+?[a-z]{1,}$', "a\\' b''", 'a:* <2> b', 'or or or', '-a -b'];
    const long = ['漢'.repeat(500), 'é'.repeat(900), `"${'ab '.repeat(50)}"`];
    for (const q of [...harmless, ...long]) await get(`q=${encodeURIComponent(q)}`).expect(200);
    const tags = encodeURIComponent("x' | 'y\\");
    await get(`tag.__proto__=${tags}&tag.constructor=1&user_id=${tags}`).expect(200);
  });
});

/** Ways to write each word; runs of a script without spaces stand alone, so that one cannot be a part of another. */
const SPELLINGS: Record<string, string[]> = {
  cafe: ['café', 'CAFÉ', 'Cafe\u0301', 'cafe'],
  strasse: ['Straße', 'STRASSE', 'strasse'],
  is: ['is', 'IS', 'İs', 'ís'],
  to: ['to', 'TO', 'tó', 'ｔｏ'],
  елка: ['ёлка', 'ЁЛКА', 'елка'],
  λογοσ: ['λόγος', 'ΛΌΓΟΣ', 'λογος'],
  محمد: ['مُحَمَّد', 'محمد'],
  '42': ['42', '４２', '４2'],
  हिन्दी: ['हिन्दी'],
  東京: ['東京'],
  internationalization: ['Internationalization', 'INTERNATIONALIZATION', 'internatiónalization'],
};
const SEPARATORS = [' ', ', ', ' — ', '. ', '\n', '-', '/', '’'];
const pick = <T>(list: T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const spelling = (word: string): string => pick(SPELLINGS[word] as string[]);
const spelled = (word: string): string => `${spelling(word)}${pick(SEPARATORS)}`;
const written = ({ words, isNegative }: { words: string[]; isNegative: boolean }): string => {
  const phrase = words.length > 1 ? `"${words.map(spelling).join(' ')}"` : spelling(words[0] as string);
  return isNegative ? `-${phrase}` : phrase;
};
