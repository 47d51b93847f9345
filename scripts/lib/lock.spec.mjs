import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { acquireLock } from './lock.mjs';

describe('acquireLock', () => {
  let folder;
  let file;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lock-'));
    file = join(folder, 'start.lock');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  test('names the process that has the lock', () => {
    expect(acquireLock(file).release).toBeDefined();
    expect(acquireLock(file)).toEqual({ holder: process.pid });
  });

  test('can be taken again once released, and leaves nothing behind', () => {
    acquireLock(file).release();
    acquireLock(file).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('takes over from a process that has ended', () => {
    // Beyond the largest number that a process can have.
    writeFileSync(file, '4194305 1');
    expect(acquireLock(file).release).toBeDefined();
    expect(readdirSync(folder)).toEqual(['start.lock']);
  });

  test('takes over from another process that had the number of a live one', () => {
    writeFileSync(file, `${process.pid} started-at-another-time`);
    expect(acquireLock(file).release).toBeDefined();
  });

  test('takes over an unreadable lock', () => {
    writeFileSync(file, '');
    expect(acquireLock(file).release).toBeDefined();
  });
});
