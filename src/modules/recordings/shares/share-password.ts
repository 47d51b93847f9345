import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number }, Buffer>(scrypt);

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** 16 MB of memory, and about 50 ms in the thread pool of Node. */
const COST = { N: 16_384, r: 8, p: 1 };

/** `salt.hash`, both as base64url. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password.normalize('NFKC'), salt, HASH_BYTES, COST);
  return `${salt.toString('base64url')}.${hash.toString('base64url')}`;
}

export async function isPassword(password: string, stored: string): Promise<boolean> {
  const [salt = '', hash = ''] = stored.split('.').map((part) => Buffer.from(part, 'base64url'));
  const given = await derive(password.normalize('NFKC'), Buffer.from(salt), HASH_BYTES, COST);
  return timingSafeEqual(given, Buffer.from(hash));
}
