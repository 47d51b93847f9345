import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { checkProduction, cleanEnvironment, localSettings } from './environment.mjs';
import { ROOT } from './paths.mjs';

const read = (path) => readFileSync(join(ROOT, path), 'utf8');

describe('the environment', () => {
  test('.env.example lists what the service reads, and nothing else', () => {
    const listed = [...read('.env.example').matchAll(/^# ([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
    const readers = read('src/platform/config/env.ts');
    const used = readers.matchAll(/read\.\w+\('([A-Z][A-Z0-9_]+)'(?:, '([A-Z][A-Z0-9_]+)')?/g);
    const names = new Set([...used].flatMap(([, ...found]) => found.filter(Boolean)));
    // Read by a method of its own, which names it.
    for (const name of ['ROLES', 'TRUST_PROXY', 'ACCEPTED_FORMATS']) names.add(name);
    expect(new Set(listed)).toEqual(names);
  });

  test('compose.yaml passes every variable on, except those that it and the image set', () => {
    const compose = read('docker/compose.yaml');
    const dockerfile = read('docker/Dockerfile');
    const listed = [...read('.env.example').matchAll(/^# ([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
    const passedOn = new Set([...compose.matchAll(/^ +([A-Z][A-Z0-9_]+): \$\{\1:/gm)].map(([, name]) => name));
    const fixed = listed.filter((name) => !passedOn.has(name));

    expect(fixed.toSorted()).toEqual(
      ['DATABASE_URL', 'HOST', 'MODELS_FOLDER', 'NODE_ENV', 'PORT', 'REDIS_URL', 'ROLES', 'STORAGE_DIR'].toSorted(),
    );
    for (const name of fixed) {
      expect(`${compose}\n${dockerfile}`).toMatch(new RegExp(`(^ +${name}: |^ENV .*\\b${name}=)`, 'm'));
      expect(read('docs/operations.md')).toMatch(new RegExp(`except the eight[^]{0,220}\`${name}\``));
    }
  });

  test('tests see none of its settings', () => {
    process.env.DATABASE_URL = 'postgres://a-developers-own';
    try {
      expect(cleanEnvironment()).not.toHaveProperty('DATABASE_URL');
    } finally {
      delete process.env.DATABASE_URL;
    }
    expect(cleanEnvironment()).toHaveProperty('PATH');
  });

  test('in production everything that is missing or too short is named', () => {
    const env = { NODE_ENV: 'production', REDIS_URL: 'redis://localhost', SECRET_KEY: 'short' };
    expect(() => checkProduction(env)).toThrow(/DATABASE_URL is required\n\s+SECRET_KEY must be at least 32/);
    expect(() => checkProduction({ ...env, DATABASE_URL: 'x', SECRET_KEY: 'k'.repeat(32) })).not.toThrow();
    const files = { DATABASE_URL_FILE: 'x', REDIS_URL_FILE: 'x', SECRET_KEY_FILE: 'x' };
    expect(() => checkProduction(files)).not.toThrow();
    expect(() => checkProduction({ DATABASE_URL: 'x', REDIS_URL: 'x', ROLES: 'transcriber' })).not.toThrow();
  });

  test('npm start is development unless NODE_ENV says otherwise', () => {
    expect(localSettings({ SECRET_KEY: 'k' }).NODE_ENV).toBe('development');
    expect(localSettings({ SECRET_KEY: 'k', NODE_ENV: 'test' }).NODE_ENV).toBe('test');
  });
});
