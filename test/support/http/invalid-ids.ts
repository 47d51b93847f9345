import { randomUUID } from 'node:crypto';

/** Spellings under which nothing exists, made of an id under which something does (D1). */
export const INVALID_IDS: [name: string, spell: (id: string) => string][] = [
  ['an unknown id', () => randomUUID()],
  ['the id in upper case', (id) => id.toUpperCase()],
  ['the id in braces', (id) => `%7B${id}%7D`],
  ['the id without dashes', (id) => id.replaceAll('-', '')],
  ['the id with white space', (id) => `${id}%20`],
  ['one character', () => 'x'],
  ['3,000 characters', () => 'x'.repeat(3000)],
  ['a NUL', () => '%00'],
  ['two dots', () => '%2e%2e'],
  ['an emoji', () => '%F0%9F%8E%99'],
];
