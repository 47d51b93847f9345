import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '../../platform/concurrency/concurrency-limit.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { lockByName } from '../../platform/database/locks.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { isCommonPassword } from './common-passwords.js';
import { SignInWaysService } from './sign-in-ways.service.js';

interface Cost {
  N: number;
  r: number;
  p: number;
  maxmem: number;
}

const derive = promisify<string, Buffer, number, Cost, Buffer>(scrypt);

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** 32 MB of memory, and about 0.25 s of CPU time in the thread pool of Node. */
const COST = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
/** Of the four threads of the pool: the others read and write files. */
const AT_ONCE = 2;
/** For an address that nobody has, so that it costs what another does. */
const NO_SALT = Buffer.alloc(SALT_BYTES);

interface StoredPassword {
  id: string;
  hash: string | null;
  salt: string | null;
}

/** Whose password was given. */
interface FoundPassword {
  personId: string;
  hash: string | null;
}

/** A password as it is stored: both as base64url. */
export interface HashedPassword {
  hash: string;
  salt: string;
}

/**
 * Passwords of people. An e-mail address may belong to several people, or to nobody: all of them have one salt, so that a
 * sign-in computes exactly one hash, and its time tells nothing of the address.
 */
@Injectable()
export class PasswordsService {
  private readonly limit = new ConcurrencyLimit(AT_ONCE);

  constructor(
    private readonly database: DatabaseService,
    private readonly ways: SignInWaysService,
  ) {}

  /** The first person with this address and password; null for none. @throws SignInWayOffError */
  async find(email: string, password: string): Promise<FoundPassword | null> {
    this.ways.require('password');
    const stored = await this.storedOf(email);
    const salt = stored.find((row) => row.salt !== null)?.salt;
    const given = await this.hash(password, salt ? Buffer.from(salt, 'base64url') : NO_SALT);
    let found: FoundPassword | null = null;
    // All of them are compared, whichever matches.
    for (const { id, hash } of stored) if (isEqual(given, hash)) found ??= { personId: id, hash };
    return found;
  }

  /** Whether it has not been changed since. It is not, until the transaction ends. */
  async isStill(tx: Tx, { personId, hash }: FoundPassword): Promise<boolean> {
    const same = await tx.query('SELECT FROM people WHERE id = $1 AND password_hash = $2 FOR SHARE', [personId, hash]);
    return same.length > 0;
  }

  /** Whether it is the password of this person. */
  async isOf(personId: string, password: string): Promise<boolean> {
    const [row] = await this.database.query<StoredPassword>(
      'SELECT id, password_hash AS hash, password_salt AS salt FROM people WHERE id = $1',
      [personId],
    );
    const given = await this.hash(password, row?.salt ? Buffer.from(row.salt, 'base64url') : NO_SALT);
    return isEqual(given, row?.hash ?? null);
  }

  /** @throws InvalidRequestError for one of the most common passwords, and for the person's own name or address */
  refuseCommon(password: string, person: { name: string; email: string }): void {
    if (!isCommonPassword(password, person)) return;
    const reason = 'is one that many people use, your name or address, or a simple pattern; choose another';
    throw new InvalidRequestError({ field: 'password', reason });
  }

  /** Hashes a password under the salt of the address, and stores with `store` what belongs to it, in a transaction. */
  async change<T>(email: string, password: string, store: (tx: Tx, hashed: HashedPassword) => Promise<T>): Promise<T> {
    for (;;) {
      const salt = (await saltOf(this.database, email)) ?? randomBytes(SALT_BYTES).toString('base64url');
      const hash = await this.hash(password, Buffer.from(salt, 'base64url'));
      const stored = await this.database.transact(async (tx) => {
        await lockByName(tx, `person-email:${email.toLowerCase()}`);
        const current = await saltOf(tx, email);
        // Another person with this address got the first password meanwhile.
        if (current !== null && current !== salt) return null;
        return { result: await store(tx, { hash: hash.toString('base64url'), salt }) };
      });
      if (stored) return stored.result;
    }
  }

  private async storedOf(email: string): Promise<StoredPassword[]> {
    return await this.database.query(
      `SELECT id, password_hash AS hash, password_salt AS salt FROM people
       WHERE lower(email) = lower($1) ORDER BY created_at, id`,
      [email],
    );
  }

  private hash(password: string, salt: Buffer): Promise<Buffer> {
    return this.limit.run(() => derive(password.normalize('NFKC'), salt, HASH_BYTES, COST));
  }
}

async function saltOf(runner: Pick<DatabaseService, 'query'>, email: string): Promise<string | null> {
  const [row] = await runner.query<{ salt: string }>(
    'SELECT password_salt AS salt FROM people WHERE lower(email) = lower($1) AND password_salt IS NOT NULL LIMIT 1',
    [email],
  );
  return row?.salt ?? null;
}

function isEqual(given: Buffer, stored: string | null): boolean {
  const expected = stored === null ? Buffer.alloc(HASH_BYTES) : Buffer.from(stored, 'base64url');
  return timingSafeEqual(given, expected) && stored !== null;
}
