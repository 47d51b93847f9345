import { connectionErrorMessage } from './connection-error.js';

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });

describe('connectionErrorMessage', () => {
  it.each([
    ['postgres://user:secret@db.example:6432/notes', 'Cannot reach PostgreSQL at db.example:6432 (DATABASE_URL).'],
    ['postgres://user:secret@db.example/notes', 'Cannot reach PostgreSQL at db.example:5432 (DATABASE_URL).'],
    ['postgres:///notes', 'Cannot reach PostgreSQL at localhost:5432 (DATABASE_URL).'],
  ])('names the server of %s, and nothing else of it', (url, message) => {
    expect(connectionErrorMessage(refused, url)).toBe(message);
  });

  it('tells what a pooler needs', () => {
    const error = new Error('unsupported startup parameter: statement_timeout');
    expect(connectionErrorMessage(error, 'postgres://db')).toBe(
      'DATABASE_URL leads to a pooler in front of PostgreSQL: set DATABASE_POOLER=true.',
    );
  });

  it('is null for any other error', () => {
    expect(connectionErrorMessage(new Error('a defect'), 'postgres://db')).toBeNull();
  });
});
