import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_CHARACTERS = 24;
/** 43 base62 characters hold 256 bits. */
const SECRET_CHARACTERS = 43;
/** 62^6 exceeds 2^32. */
const CHECKSUM_CHARACTERS = 6;

const KEY = /^vnk_[0-9A-Za-z]{24}$/;
const SECRET = /^vns_[0-9A-Za-z]{49}$/;

/** The two halves of a key pair as the client gets them (D9). The prefixes let secret scanners find leaked ones. */
export interface KeyPair {
  key: string;
  secret: string;
}

export function makeKeyPair(): KeyPair {
  const body = randomBase62(SECRET_CHARACTERS);
  return { key: `vnk_${randomBase62(KEY_CHARACTERS)}`, secret: `vns_${body}${checksum(body)}` };
}

/** Whether a pair can exist: its CRC-32 detects a typo without a look-up. */
export function isWellFormed({ key, secret }: KeyPair): boolean {
  if (!KEY.test(key) || !SECRET.test(secret)) return false;
  const body = secret.slice('vns_'.length, -CHECKSUM_CHARACTERS);
  return secret.endsWith(checksum(body));
}

function checksum(body: string): string {
  let value = crc32(body);
  let text = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    text = BASE62[value % 62] + text;
    value = Math.floor(value / 62);
  }
  return text;
}

function randomBase62(length: number): string {
  return Array.from({ length }, () => BASE62[randomInt(62)]).join('');
}
