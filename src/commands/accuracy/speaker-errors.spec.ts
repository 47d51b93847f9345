import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { formatRttm, parseRttm, type SpokenTurn } from './rttm.js';
import { errorRate, speakerErrors, sumOfErrors } from './speaker-errors.js';

type Row = [speaker: string, start: number, end: number];
const turns = (...rows: Row[]): SpokenTurn[] => rows.map(([speaker, start, end]) => ({ speaker, start, end }));

/** Two to four speakers who interrupt each other, and a diarizer that is wrong about a part of it; always the same. */
function randomPair(seed: number): { reference: SpokenTurn[]; heard: SpokenTurn[] } {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const ms = (seconds: number): number => Math.max(0, Math.round(seconds * 1000) / 1000);
  const people = 2 + Math.floor(random() * 3);
  const ends = new Map<string, number>();
  const add = (list: SpokenTurn[], speaker: string, start: number, end: number): void => {
    const from = ms(Math.max(start, ends.get(`${list === reference}${speaker}`) ?? 0));
    if (ms(end) <= from) return;
    list.push({ speaker, start: from, end: ms(end) });
    ends.set(`${list === reference}${speaker}`, ms(end) + 0.001);
  };
  const reference: SpokenTurn[] = [];
  const heard: SpokenTurn[] = [];
  let time = random() * 3;
  for (let turn = 0; turn < 20; turn++) {
    const who = Math.floor(random() * people);
    const [start, end] = [time, time + 0.3 + random() * 6];
    add(reference, `S${who}`, start, end);
    const confusedWith = random() < 0.2 ? Math.floor(random() * (people + 1)) : who;
    if (random() > 0.1) add(heard, `x${confusedWith}`, start + (random() - 0.5) * 0.8, end + (random() - 0.5) * 0.8);
    time = Math.max(0, end + (random() - 0.4) * 2);
  }
  return { reference, heard };
}

/** What md-eval.pl (v22, sctk 2.4.12) prints: missed, false alarm, confusion and rate in percent. */
const RECORDED: [seed: number, collar: number, missed: number, falseAlarm: number, confused: number, rate: number][] = [
  [2, 0, 29.8, 3.2, 0, 32.96],
  [2, 0.25, 27.5, 0, 0, 27.54],
  [3, 0, 15, 3.4, 0.4, 18.79],
  [3, 0.25, 11.2, 0.7, 0, 11.9],
  [5, 0, 14.8, 3.3, 12.3, 30.37],
  [5, 0.25, 10.6, 0.3, 12.4, 23.39],
  [8, 0, 12.8, 5.9, 1.1, 19.81],
  [8, 0.25, 8, 1.3, 0.4, 9.66],
  [13, 0, 19, 4.5, 0.2, 23.61],
  [13, 0.25, 15.9, 0.7, 0, 16.58],
  [21, 0, 34.1, 1.4, 3.2, 38.67],
  [21, 0.25, 33.8, 0.2, 3.4, 37.37],
  [34, 0, 7.7, 5.9, 13.2, 26.8],
  [34, 0.25, 4.7, 0.6, 13.2, 18.58],
  [55, 0, 18.2, 6.8, 12.9, 37.88],
  [55, 0.25, 17.2, 2.1, 13.4, 32.77],
];
const MD_EVAL = '/usr/lib/sctk/bin/md-eval.pl';

const percent = (part: number, of: number): number => Math.round((1e4 * part) / of) / 100;
function figures(seed: number, collar: number): number[] {
  const { reference, heard } = randomPair(seed);
  const errors = speakerErrors(reference, heard, collar);
  const { missed, falseAlarm, confused, speech } = errors;
  return [missed, falseAlarm, confused].map((part) => percent(part, speech)).concat(percent(errorRate(errors), 1));
}

/** It prints the rate with two places and its parts with one. */
function expectSame(ours: readonly number[], theirs: readonly number[]): void {
  const places = [0.051, 0.051, 0.051, 0.011];
  ours.forEach((figure, index) => {
    expect(Math.abs(figure - (theirs[index] as number))).toBeLessThan(places[index] as number);
  });
}

describe('speakerErrors', () => {
  const said = turns(['A', 0, 10], ['B', 10, 20]);

  it('finds no error in the same turns, whatever the speakers are called', () => {
    const heard = turns(['7', 0, 10], ['3', 10, 20]);
    expect(speakerErrors(said, heard, 0)).toEqual({ speech: 20, missed: 0, falseAlarm: 0, confused: 0 });
  });

  it('tells missed, false and confused time apart', () => {
    const heard = turns(['x', 0, 8], ['y', 8, 12], ['y', 14, 18], ['z', 16, 18]);
    expect(speakerErrors(said, heard, 0)).toEqual({ speech: 20, missed: 4, falseAlarm: 2, confused: 2 });
  });

  it('counts each of two who speak at the same time', () => {
    const both = turns(['A', 0, 10], ['B', 5, 15]);
    expect(speakerErrors(both, turns(['x', 0, 15]), 0)).toEqual({ speech: 20, missed: 5, falseAlarm: 0, confused: 5 });
    expect(errorRate(speakerErrors(both, turns(['x', 0, 15]), 0))).toBe(0.5);
  });

  it('does not count what is near a begin or end in the reference', () => {
    const heard = turns(['x', 0, 10.2], ['y', 10.2, 20]);
    expect(errorRate(speakerErrors(said, heard, 0))).toBeCloseTo(0.01);
    const { speech, ...others } = speakerErrors(said, heard, 0.25);
    expect(speech).toBeCloseTo(19);
    expect(others).toEqual({ missed: 0, falseAlarm: 0, confused: 0 });
  });

  it('looks at nothing before and after the reference', () => {
    const heard = turns(['x', 0, 30]);
    expect(speakerErrors(turns(['A', 10, 20]), heard, 0)).toEqual({
      speech: 10,
      missed: 0,
      falseAlarm: 0,
      confused: 0,
    });
    expect(speakerErrors([], heard, 0)).toEqual({ speech: 0, missed: 0, falseAlarm: 0, confused: 0 });
  });

  it('matches speakers so that they share the most time in all', () => {
    // The greedy choice, A with x, would leave nothing for B.
    const reference = turns(['A', 0, 19], ['B', 20, 30]);
    const heard = turns(['x', 0, 10], ['x', 20, 30], ['y', 10, 19]);
    expect(speakerErrors(reference, heard, 0).confused).toBe(10);
  });

  it('adds the seconds of several recordings', () => {
    const sum = sumOfErrors([speakerErrors(said, [], 0), speakerErrors(said, said, 0)]);
    expect(sum).toEqual({ speech: 40, missed: 20, falseAlarm: 0, confused: 0 });
    expect(errorRate(sum)).toBe(0.5);
  });

  it.each(RECORDED)('finds what md-eval.pl has found in pair %d with a collar of %d s', (seed, collar, ...theirs) => {
    expectSame(figures(seed, collar), theirs);
  });

  (existsSync(MD_EVAL) ? it : it.skip)('finds what md-eval.pl finds', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'md-eval-'));
    const count = Number(process.env.MD_EVAL_PAIRS ?? 6);
    let most = 0;
    for (let seed = 1; seed <= count; seed++) {
      const { reference, heard } = randomPair(seed);
      const [ref, sys] = [path.join(folder, 'ref.rttm'), path.join(folder, 'sys.rttm')];
      writeFileSync(ref, formatRttm('pair', reference));
      writeFileSync(sys, formatRttm('pair', heard));
      for (const collar of [0, 0.25]) {
        const printed = execFileSync('perl', [MD_EVAL, '-c', String(collar), '-r', ref, '-s', sys], {
          encoding: 'utf8',
        });
        const found = (name: RegExp): number => Number(name.exec(printed)?.[1]);
        const theirs = [
          found(/MISSED SPEAKER TIME =.*?\(\s*([\d.]+) percent/),
          found(/FALARM SPEAKER TIME =.*?\(\s*([\d.]+) percent/),
          found(/SPEAKER ERROR TIME =.*?\(\s*([\d.]+) percent/),
          found(/OVERALL SPEAKER DIARIZATION ERROR = ([\d.]+) percent/),
        ];
        const ours = figures(seed, collar);
        expectSame(ours, theirs);
        most = Math.max(most, Math.abs((ours[3] as number) - (theirs[3] as number)));
      }
    }
    if (count > 20) process.stdout.write(`${2 * count} rates, largest difference ${most.toFixed(4)} points\n`);
    rmSync(folder, { recursive: true });
  });
});

describe('RTTM', () => {
  it('is read as it is written', () => {
    const said = turns(['A', 0.5, 2.25], ['B', 2, 3]);
    expect(parseRttm(formatRttm('note', said), 'x')).toEqual(new Map([['note', said]]));
  });

  it('has other lines, which do not count', () => {
    const text = ';; comment\nSPKR-INFO a 1 <NA> <NA> <NA> unknown A <NA>\n\nSPEAKER a 1 1.5 0 <NA> <NA> A <NA>\n';
    expect(parseRttm(text, 'x')).toEqual(new Map([['a', []]]));
  });

  it.each(['SPEAKER a 1 x 2 <NA> <NA> A', 'SPEAKER a 1 1 -2 <NA> <NA> A', 'SPEAKER a 1 1 2'])('refuses %j', (line) => {
    expect(() => parseRttm(`\n${line}`, 'x.rttm')).toThrow('x.rttm, line 2');
  });
});
