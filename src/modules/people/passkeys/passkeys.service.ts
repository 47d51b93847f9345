import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { isResourceId } from '../../../platform/database/find-or-fail.js';
import {
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  LimitExceededError,
  NotFoundError,
  PermissionError,
} from '../../../platform/errors/errors.js';
import type { PageQuery, PageResult } from '../../../platform/http/page.js';
import { lockPerson } from '../memberships.queries.js';
import { PasswordsService } from '../passwords.service.js';
import { Session } from '../session.entity.js';
import type { SessionDetails } from '../sessions.service.js';
import { SignInWaysService } from '../sign-in-ways.service.js';
import { SignInsService } from '../sign-ins.service.js';
import { PasskeyChallengesService } from './passkey-challenges.service.js';
import { Passkey } from './passkey.entity.js';
import { isOfProvider, recordPasskeys } from './passkeys.queries.js';
import { PasskeyRefusedError, type RelyingParty, verifyRegistration } from './web-authn.js';

/** Of one person. */
export const MAX_PASSKEYS = 20;
/** A session that has just begun is proof enough of who is there. */
const FRESH_MS = 10 * 60_000;

export const NO_PASSKEY_BY_LINK = 'This session began with a link. Sign in with your password to add a passkey.';
const NO_PASSKEY_OF_PROVIDER = 'You sign in with an OpenID provider, which decides whether you are let in.';

/** What an authenticator needs to make a passkey. */
export interface RegistrationChallenge {
  challenge: string;
  session: SessionDetails;
  /** Those of the person, so that no authenticator makes a second one. */
  passkeys: Passkey[];
}

/** The passkeys of a person who has signed in (D103). */
@Injectable()
export class PasskeysService {
  private readonly logger = new Logger(PasskeysService.name);

  constructor(
    @InjectRepository(Passkey) private readonly passkeys: Repository<Passkey>,
    private readonly database: DatabaseService,
    private readonly challenges: PasskeyChallengesService,
    private readonly passwords: PasswordsService,
    private readonly signIns: SignInsService,
    private readonly ways: SignInWaysService,
  ) {}

  /** Oldest first. */
  async list(personId: string, { page, limit }: PageQuery): Promise<PageResult<Passkey>> {
    const [items, total] = await this.passkeys.findAndCount({
      where: { personId },
      order: { createdAt: 'ASC', id: 'ASC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /**
   * @param password the current one, which a session takes that has not just begun
   * @param address of the client, whose guesses are limited
   * @throws SignInWayOffError, PermissionError, InvalidRequestError, LimitExceededError, RateLimitError
   */
  async begin(
    details: SessionDetails,
    password: string | undefined,
    address: string | undefined,
  ): Promise<RegistrationChallenge> {
    this.ways.require('passkey');
    const { session, person } = details;
    if (session.beganWith === 'link') throw new PermissionError(null, NO_PASSKEY_BY_LINK);
    if (await isOfProvider(this.database, person.id)) throw new PermissionError(null, NO_PASSKEY_OF_PROVIDER);
    if (password !== undefined) await this.verify(details, password, address);
    else if (Date.now() - session.createdAt.getTime() > FRESH_MS)
      throw new InvalidRequestError({ field: 'current_password', reason: 'is required; or sign in again' });
    const passkeys = await this.passkeys.findBy({ personId: person.id });
    if (passkeys.length >= MAX_PASSKEYS) throw new LimitExceededError('passkeys', MAX_PASSKEYS);
    return { challenge: await this.challenges.create(`session:${session.id}`), session: details, passkeys };
  }

  /** @throws SignInWayOffError, InvalidRequestError, ConflictError, LimitExceededError, AuthenticationError */
  async add(
    { sessionId, personId }: { sessionId: string; personId: string },
    name: string,
    response: RegistrationResponseJSON,
    relyingParty: RelyingParty,
  ): Promise<Passkey> {
    this.ways.require('passkey');
    const credential = await this.verified(sessionId, response, relyingParty);
    return await this.database.transact(async (tx) => {
      await lockPerson(tx, personId);
      // A new password may have ended it meanwhile.
      if (!(await tx.manager.existsBy(Session, { id: sessionId }))) throw new AuthenticationError();
      if ((await tx.manager.countBy(Passkey, { personId })) >= MAX_PASSKEYS)
        throw new LimitExceededError('passkeys', MAX_PASSKEYS);
      const made = { id: uuidv7(), personId, name, createdAt: new Date(), lastUsedAt: null };
      const passkey = tx.manager.create(Passkey, { ...made, ...credential });
      if (!(await insertPasskey(tx, passkey))) throw new ConflictError('This passkey was added already.');
      await recordPasskeys(tx, personId, 'passkey.added', [passkey.id]);
      return passkey;
    });
  }

  /** @throws NotFoundError */
  async rename(personId: string, id: string, name: string): Promise<Passkey> {
    return await this.database.transact(async (tx) => {
      const passkey = await findOwn(tx, personId, id);
      if (name === passkey.name) return passkey;
      await tx.manager.update(Passkey, { id }, { name });
      await recordPasskeys(tx, personId, 'passkey.updated', [id]);
      return tx.manager.merge(Passkey, passkey, { name });
    });
  }

  /** @throws NotFoundError */
  async remove(personId: string, id: string): Promise<void> {
    await this.database.transact(async (tx) => {
      await findOwn(tx, personId, id);
      await tx.manager.delete(Passkey, { id });
      await recordPasskeys(tx, personId, 'passkey.removed', [id]);
    });
  }

  private async verify({ person }: SessionDetails, password: string, address: string | undefined): Promise<void> {
    await this.signIns.limitAttempts(person.email, address);
    if (await this.passwords.isOf(person.id, password)) return;
    throw new InvalidRequestError({ field: 'current_password', reason: 'is not the password of this person' });
  }

  private async verified(sessionId: string, response: RegistrationResponseJSON, relyingParty: RelyingParty) {
    try {
      const challenge = await this.challenges.take(`session:${sessionId}`, response.response.clientDataJSON);
      return await verifyRegistration(response, challenge, relyingParty);
    } catch (error) {
      if (!(error instanceof PasskeyRefusedError)) throw error;
      this.logger.warn({ err: error }, 'a passkey was not added');
      throw new InvalidRequestError({
        field: 'credential',
        reason: 'must answer options of this session within 5 minutes, once, with user verification, at this address',
      });
    }
  }
}

/** Until the transaction ends, nobody else changes it. @throws NotFoundError */
async function findOwn(tx: Tx, personId: string, id: string): Promise<Passkey> {
  const found = isResourceId(id)
    ? await tx.manager.findOne(Passkey, { where: { id, personId }, lock: { mode: 'pessimistic_write' } })
    : null;
  if (!found) throw new NotFoundError('passkey');
  return found;
}

/** SQL, because of ON CONFLICT. @returns whether nobody has had the credential yet */
async function insertPasskey(tx: Tx, passkey: Passkey): Promise<boolean> {
  const { id, personId, credentialId, publicKey, counter, transports, name, createdAt } = passkey;
  const inserted = await tx.query(
    `INSERT INTO passkeys (id, person_id, credential_id, public_key, counter, transports, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (credential_id) DO NOTHING RETURNING id`,
    [id, personId, credentialId, publicKey, counter, transports, name, createdAt],
  );
  return inserted.length > 0;
}
