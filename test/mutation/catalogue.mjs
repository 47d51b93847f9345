import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { access } from './faults/access.mjs';
import { audio } from './faults/audio.mjs';
import { counters } from './faults/counters.mjs';
import { deliveries } from './faults/deliveries.mjs';
import { engines } from './faults/engines.mjs';
import { events } from './faults/events.mjs';
import { guards } from './faults/guards.mjs';
import { leases } from './faults/leases.mjs';
import { limiter } from './faults/limiter.mjs';
import { platform } from './faults/platform.mjs';
import { processing } from './faults/processing.mjs';
import { retention } from './faults/retention.mjs';
import { sending } from './faults/sending.mjs';
import { storage } from './faults/storage.mjs';
import { uploads } from './faults/uploads.mjs';

/**
 * Small faults of one file, and the tests that must notice each of them.
 * @typedef {{ file: string, tests: string | string[], name?: string, faults: [what: string, from: string, to: string][] }} FaultGroup
 * tests: files of one of jest's projects. name: a pattern for the names of the tests in them. from: a text that the file
 * has exactly once. to: what replaces it.
 * @typedef {{ part: string, what: string, file: string, from: string, to: string, tests: string[], name?: string }} Fault
 */

const PARTS = {
  guards,
  access,
  limiter,
  leases,
  processing,
  engines,
  deliveries,
  sending,
  events,
  storage,
  uploads,
  retention,
  counters,
  platform,
  audio,
};

export const PART_NAMES = Object.keys(PARTS);

/** @type {Fault[]} */
export const FAULTS = Object.entries(PARTS).flatMap(([part, groups]) => faultsOf(part, groups));

/** @param {string} part @param {FaultGroup[]} groups @returns {Fault[]} */
export function faultsOf(part, groups) {
  return groups.flatMap(({ file, tests, name, faults }) =>
    faults.map(([what, from, to]) => ({ part, what, file, from, to, tests: [tests].flat(), name })),
  );
}

/** The file's text with the fault in it. @throws Error when the text to replace is not there exactly once */
export function withFault(root, fault) {
  return replaceOnce(readFileSync(join(root, fault.file), 'utf8'), fault);
}

/** Of jest's two projects. Tests of both kinds cannot run together. */
export const projectOf = (tests) => (tests.every((test) => test.endsWith('.e2e.ts')) ? 'e2e' : 'unit');

/** The text with a fault in it. @throws Error when the text to replace is not there exactly once */
export function replaceOnce(text, { file, from, to, what }) {
  const places = text.split(from).length - 1;
  if (places !== 1) throw new Error(`${file}: "${what}": ${places} places instead of one with:\n${from}`);
  return text.replace(from, () => to);
}
