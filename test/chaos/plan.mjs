import { UserError } from '../../scripts/lib/steps.mjs';

/**
 * What a run does, and when: drawn from the seed alone, so that a run can be repeated. What comes of it also depends on
 * the machine.
 */

/** @typedef {{ at: number, kind: string, seconds?: number }} Fault `at`: milliseconds after the start of the load */
/**
 * @typedef {{ uploads: number, loadSeconds: number, faults: Fault[] | Record<string, number>, clocks: Record<string, number>,
 *   hangSeconds?: number }} Size
 * hangSeconds: how long receivers keep what they never answer; longer than any time-out when omitted. faults: what happens when, or how often each kind happens at random moments. clocks: milliseconds by which the clocks of
 * these processes are ahead.
 */
/** @typedef {{ at: number, account: number, file: number, slow: boolean, deleteAfter: number | null }} PlannedUpload */

const SIZES = {
  full: {
    uploads: 200,
    loadSeconds: 240,
    faults: {
      worker: 10,
      api: 4,
      redis: 3,
      flush: 2,
      postgres: 3,
      'freeze worker': 2,
      'freeze redis': 1,
      'freeze postgres': 2,
      'demote redis': 2,
    },
    clocks: { 'api-2': -2000, 'worker-2': 2000 },
  },
  short: {
    uploads: 20,
    loadSeconds: 12,
    faults: { worker: 2, api: 1, redis: 1, flush: 1, postgres: 1, 'freeze worker': 1, 'freeze redis': 1 },
    clocks: {},
    hangSeconds: 2,
  },
};

/** Only where audio is stored in S3. */
const STORE_FAULTS = { 'hang store': 2 };

/** @param {{ short: boolean, s3: boolean, only?: string }} options only: a kind of fault @throws UserError */
export function sizeOf({ short, s3, only }) {
  const size = short ? SIZES.short : SIZES.full;
  const store = s3 ? STORE_FAULTS : {};
  if (only === undefined) return { ...size, faults: { ...size.faults, ...(short ? {} : store) } };
  const known = { ...SIZES.full.faults, ...store };
  if (!Object.hasOwn(known, only)) throw new UserError(`--only takes one of: ${Object.keys(known).join(', ')}`);
  return { ...size, faults: { [only]: short ? 1 : known[only] }, clocks: {} };
}

/** One in so many uploads is deleted again: also in a short run some are. */
const DELETED_EVERY = 10;
/** Such an upload takes seconds, so that it is likely to be cut off by a crash of its API process. */
const SLOW_EVERY = 7;
/** How long each lasts, in turn. A worker is frozen for longer than its lease, Postgres than any time-out of a client. */
const SECONDS = {
  'freeze worker': [8],
  'freeze redis': [8],
  'freeze postgres': [40, 70],
  'demote redis': [8],
  'hang store': [20, 40],
};

/** @returns {{ uploads: PlannedUpload[], faults: Fault[] }} in the order of time */
export function makePlan({ uploads, loadSeconds, faults }, { seed, accounts, files }) {
  const random = randomFrom(`plan ${seed}`);
  const loadMs = loadSeconds * 1000;
  return {
    uploads: Array.from({ length: uploads }, (_, i) => ({
      at: (i / uploads) * loadMs,
      account: i % accounts,
      file: Math.floor(random() * files),
      slow: i % SLOW_EVERY === 3,
      deleteAfter: i % DELETED_EVERY === 5 ? random() * 3000 : null,
    })),
    faults: Array.isArray(faults) ? faults : drawFaults(faults, loadMs, random),
  };
}

function drawFaults(counts, loadMs, random) {
  return Object.entries(counts)
    .flatMap(([kind, count]) => Array.from({ length: count }, (_, i) => faultOf(kind, i, count, loadMs, random)))
    .toSorted((a, b) => a.at - b.at);
}

/** Faults of one kind are spread over the load, each at a random moment of its share. */
function faultOf(kind, i, count, loadMs, random) {
  const at = loadMs * (0.05 + (0.9 * (i + random())) / count);
  const lengths = SECONDS[kind];
  return lengths ? { at, kind, seconds: lengths[i % lengths.length] } : { at, kind };
}

/** Uniform numbers from 0 to 1, the same for the same text (mulberry32 over an FNV-1a hash). */
export function randomFrom(text) {
  let state = 2_166_136_261;
  for (const char of text) state = Math.imul(state ^ char.codePointAt(0), 16_777_619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
