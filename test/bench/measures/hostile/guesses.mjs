// Sends well-formed key pairs that do not exist: node test/bench/measures/hostile/guesses.mjs URL PAIRS_A_SECOND SECONDS
import autocannon from 'autocannon';
import { makeKeyPair } from '../../../../dist/modules/api-keys/api-key-credentials.service.js';

const CONNECTIONS = 50;
/** Each is sent once in a run of 10 s at 2,000 a second. */
const PAIRS = 20_000;

const pairs = Array.from({ length: PAIRS }, () => {
  const { key, secret } = makeKeyPair();
  return { 'X-Service-API-Key': key, 'X-Service-API-Secret': secret };
});

const [url, rate, seconds] = process.argv.slice(2);
let sent = 0;
const result = await autocannon({
  url,
  connections: CONNECTIONS,
  overallRate: Number(rate),
  duration: Number(seconds),
  requests: [{ setupRequest: (request) => ({ ...request, headers: pairs[sent++ % PAIRS] }) }],
});
process.stdout.write(JSON.stringify({ perSecond: result.requests.average, statuses: result.statusCodeStats }));
