// Sends well-formed key pairs that do not exist: node test/bench/lib/guesses.mjs URL PAIRS_A_SECOND SECONDS
import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import autocannon from 'autocannon';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CONNECTIONS = 50;
/** Each is sent once in a run of 10 s at 2,000 a second. */
const PAIRS = 20_000;

const random = (length) => Array.from({ length }, () => BASE62[randomInt(62)]).join('');

function checksum(body) {
  let value = crc32(body);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = BASE62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}

const pairs = Array.from({ length: PAIRS }, () => {
  const body = random(43);
  return { 'X-Service-API-Key': `vnk_${random(24)}`, 'X-Service-API-Secret': `vns_${body}${checksum(body)}` };
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
