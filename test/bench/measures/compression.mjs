import { get } from 'node:http';
import { alternate, load, median, ratio } from '../lib/load.mjs';
import { insertRecordings } from '../lib/recordings.mjs';

/** Of about 20 minutes. */
const WORDS = 3000;

/** What it costs that the transcript of a long note is compressed, in transcripts a second of the same service. */
export async function measureCompression(stage, { pairs, seconds }) {
  const account = await stage.account();
  await insertRecordings(stage, account.id, 1, 1);
  const [{ id }] = await stage.sql('SELECT id FROM recordings WHERE account_id = $1', [account.id]);
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
    [account.id, id, words.map(({ word }) => word).join(' '), JSON.stringify(words)],
  );
  await stage.sql("UPDATE recordings SET status = 'transcribed' WHERE id = $1", [id]);
  const service = await stage.service('api');
  const url = `${service.url}/v1/recordings/${id}/transcription`;
  const as = (encoding) => ({ ...account.headers, 'accept-encoding': encoding });
  const sizeOf = async (encoding) => (await bytesOn(url, as(encoding))).toLocaleString('en');
  const sizes = [await sizeOf('identity'), await sizeOf('gzip'), await sizeOf('br')];
  const one = (encoding) => () => load(url, { headers: as(encoding), seconds });
  const results = await alternate(pairs, one('identity'), one('gzip'), one('br'));
  await service.stop();
  const [plain, gzip, brotli] = results.map((each) => each.map(({ perSecond }) => perSecond));
  const rate = (values) => Math.round(median(values)).toLocaleString('en');
  const figures = `${rate(gzip)} against ${rate(plain)} transcripts/s; ${sizes[1]} of ${sizes[0]} bytes`;
  return [
    { what: 'GET a long transcript with gzip / without', value: ratio(gzip, plain), target: 0.4, figures },
    { what: 'the same with Brotli', value: ratio(brotli, plain), target: 0.25, figures: `${sizes[2]} bytes` },
  ];
}

/** Of the body as it is sent. */
async function bytesOn(url, headers) {
  return await new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      let bytes = 0;
      response.on('data', (chunk) => (bytes += chunk.length)).on('end', () => resolve(bytes));
    }).on('error', reject);
  });
}
