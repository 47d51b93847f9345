import { PassThrough } from 'node:stream';
import { keepStderrTail } from './stderr-tail.js';

describe('keepStderrTail', () => {
  it('keeps the last 2048 bytes, in whatever parts they came', async () => {
    const stderr = new PassThrough();
    const tail = keepStderrTail(stderr);
    expect(tail()).toBe('');
    stderr.write('first\n');
    stderr.write('second\n');
    await new Promise(setImmediate);
    expect(tail()).toBe('first\nsecond\n');
    stderr.write('x'.repeat(2047));
    await new Promise(setImmediate);
    expect(tail()).toBe(`\n${'x'.repeat(2047)}`);
    stderr.write('yz');
    await new Promise(setImmediate);
    expect(tail()).toBe(`${'x'.repeat(2046)}yz`);
  });

  it('is empty for a process without such a stream', () => {
    expect(keepStderrTail(null)()).toBe('');
  });
});
