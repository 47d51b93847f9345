import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ServiceUnavailableError } from '../../../platform/errors/errors.js';
import { RedisService } from '../../../platform/redis/redis.service.js';
import { PasskeyRefusedError } from './web-authn.js';

const CHALLENGE_BYTES = 32;
/** How long a person may take to answer. */
export const CHALLENGE_MS = 5 * 60_000;

/** For what a challenge is signed: a sign-in, or a new passkey of the person of one session. */
export type ChallengePurpose = 'sign-in' | `session:${string}`;

/** What authenticators sign, each once. Redis has hashes of those that nobody has answered yet. */
@Injectable()
export class PasskeyChallengesService {
  constructor(private readonly redis: RedisService) {}

  /** @throws ServiceUnavailableError without Redis */
  async create(purpose: ChallengePurpose): Promise<string> {
    const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url');
    const name = nameOf(purpose, challenge);
    const stored = await this.redis.tryCommand((client) => client.set(name, '1', 'PX', CHALLENGE_MS));
    if (stored === null) throw new ServiceUnavailableError();
    return challenge;
  }

  /**
   * The challenge that was signed. Another answer to it is refused from now on, whatever this one is worth.
   * @throws PasskeyRefusedError for one that was answered, is too old, or was made for another purpose
   * @throws ServiceUnavailableError without Redis
   */
  async take(purpose: ChallengePurpose, clientDataJSON: string): Promise<string> {
    const challenge = challengeIn(clientDataJSON);
    const removed =
      challenge === null ? 0 : await this.redis.tryCommand((client) => client.del(nameOf(purpose, challenge)));
    if (removed === null) throw new ServiceUnavailableError();
    if (challenge === null || removed === 0) throw new PasskeyRefusedError('no such challenge waits for an answer');
    return challenge;
  }
}

const nameOf = (purpose: ChallengePurpose, challenge: string): string =>
  `passkey:${hash('sha256', `${purpose}:${challenge}`, 'base64url')}`;

function challengeIn(clientDataJSON: string): string | null {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
    const { challenge } = data as { challenge?: unknown };
    return typeof challenge === 'string' ? challenge : null;
  } catch {
    return null;
  }
}
