import { request } from 'undici';
import { alternate, alternateWarm, atLeast, atMost, load, medianRate, rates, ratio } from '../lib/figures.mjs';
import { COLUMNS, insertRecordings } from '../lib/recordings.mjs';

const RECORDINGS = 1000;
const DAYS = 30;
/** Of a transcript of about 20 minutes. */
const WORDS = 3000;

async function accountWithRecordings(stage) {
  const account = await stage.account();
  await insertRecordings(stage, account.id, RECORDINGS, DAYS);
  const [{ id }] = await stage.sql('SELECT id FROM recordings WHERE account_id = $1 LIMIT 1', [account.id]);
  return { account, id };
}

/** One recording, with everything on, beside a bare server and beside stock Nest. */
export async function measureGet(stage, { pairs, seconds }) {
  const { account, id } = await accountWithRecordings(stage);
  const statement = {
    SQL: `SELECT ${COLUMNS} FROM recordings WHERE id = $2 AND account_id = $1`,
    PARAMETERS: JSON.stringify([account.id, id]),
  };
  const service = await stage.service('api');
  const bare = await stage.baseline('bare-server.mjs', statement);
  const stock = await stage.baseline('stock-nest.mjs', statement);
  const one = (url, headers) => () => load(url, { headers, seconds });
  const ours = one(`${service.url}/v1/recordings/${id}`, account.headers);
  const [a, b, c] = await alternateWarm(pairs, ours, one(`${bare.url}/one`), one(`${stock.url}/one`));
  const p99s = (results) => results.map(({ p99 }) => p99);
  const figures = `${medianRate(a)} against ${medianRate(b)} bare, ${medianRate(c)} stock requests/s`;
  return [
    atLeast(0.75, 'GET one recording / bare', ratio(rates(a), rates(b)), figures),
    atLeast(1.5, 'GET one recording / stock Nest', ratio(rates(a), rates(c))),
    atMost(2.5, 'its p99 / bare', ratio(p99s(a), p99s(b))),
  ];
}

/** A page of 50 beside a bare server that runs a plain statement for the same rows. */
export async function measureList(stage, { pairs, seconds }) {
  const { account } = await accountWithRecordings(stage);
  const service = await stage.service('api');
  const bare = await stage.baseline('bare-server.mjs', {
    SQL: `SELECT ${COLUMNS} FROM recordings WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 50`,
    PARAMETERS: JSON.stringify([account.id]),
    WRAP: 'list',
  });
  const ours = () => load(`${service.url}/v1/recordings?limit=50`, { headers: account.headers, seconds });
  const theirs = () => load(`${bare.url}/`, { seconds });
  const [a, b] = await alternateWarm(pairs, ours, theirs);
  const figures = `${medianRate(a)} against ${medianRate(b)} requests/s`;
  return [atLeast(0.6, 'GET a list of 50 / bare', ratio(rates(a), rates(b)), figures)];
}

/** What it costs that the transcript of a long note is compressed, in transcripts a second of the same service. */
export async function measureCompression(stage, { pairs, seconds }) {
  const { account, id } = await accountWithRecordings(stage);
  await insertTranscript(stage, account.id, id);
  const service = await stage.service('api');
  const url = `${service.url}/v1/recordings/${id}/transcription`;
  const as = (encoding) => ({ ...account.headers, 'accept-encoding': encoding });
  // undici's request leaves the body as it was sent, which fetch does not.
  const sizeOf = async (encoding) => {
    const { body } = await request(url, { headers: as(encoding) });
    return (await body.arrayBuffer()).byteLength.toLocaleString('en');
  };
  const sizes = [await sizeOf('identity'), await sizeOf('gzip'), await sizeOf('br')];
  const one = (encoding) => () => load(url, { headers: as(encoding), seconds });
  const [plain, gzip, brotli] = await alternate(pairs, one('identity'), one('gzip'), one('br'));
  const figures = `${medianRate(gzip)} against ${medianRate(plain)} transcripts/s; ${sizes[1]} of ${sizes[0]} bytes`;
  return [
    atLeast(0.4, 'GET a long transcript with gzip / without', ratio(rates(gzip), rates(plain)), figures),
    atLeast(0.25, 'the same with Brotli', ratio(rates(brotli), rates(plain)), `${sizes[2]} bytes`),
  ];
}

async function insertTranscript(stage, accountId, recordingId) {
  const words = Array.from({ length: WORDS }, (_, i) => ({
    word: (i * 7919).toString(36),
    start: i * 0.4,
    end: i * 0.4 + 0.31,
    confidence: ((i * 31) % 100) / 100,
  }));
  await stage.sql(
    `INSERT INTO transcriptions (id, account_id, recording_id, text, confidence, language, provider, model,
       processing_duration_ms, words, created_at, updated_at)
     VALUES (gen_random_uuid(), $1, $2, $3, 0.9, 'english', 'bench', 'bench', 1, $4, now(), now())
     ON CONFLICT (recording_id) DO UPDATE SET text = excluded.text, words = excluded.words`,
    [accountId, recordingId, words.map(({ word }) => word).join(' '), JSON.stringify(words)],
  );
  await stage.sql("UPDATE recordings SET status = 'transcribed' WHERE id = $1", [recordingId]);
}
