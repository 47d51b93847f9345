import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { raiseCredentialVersion } from '../../access/accounts.queries.js';
import { auditTarget, differences, recordChanges, shownUrl } from '../../access/audit-trail.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail } from '../../platform/database/find-or-fail.js';
import { insertWithinLimit } from '../../platform/database/locks.js';
import { InvalidRequestError, NotFoundError } from '../../platform/errors/errors.js';
import { AllowedNetworks, checkOutgoingUrl } from '../../platform/http/outgoing/address-rules.js';
import type { PageQuery, PageResult } from '../../platform/http/page.js';
import { knownMembers } from './public-keys.js';
import { TokenIssuer } from './token-issuer.entity.js';
import type { TokenIssuerDto } from './token-issuers.dto.js';

const MAX_ISSUERS = 50;

@Injectable()
export class TokenIssuersService {
  private readonly allowed: AllowedNetworks;

  constructor(
    @InjectRepository(TokenIssuer) private readonly issuers: Repository<TokenIssuer>,
    private readonly database: DatabaseService,
    private readonly versions: CredentialVersionsService,
    env: Env,
  ) {
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
  }

  /** @throws InvalidRequestError, LimitExceededError */
  async create(accountId: string, dto: TokenIssuerDto): Promise<TokenIssuer> {
    const now = new Date();
    const issuer = this.issuers.create({
      id: uuidv7(),
      accountId,
      ...this.settingsOf(dto),
      createdAt: now,
      updatedAt: now,
    });
    await insertWithinLimit(this.database, TokenIssuer, issuer, {
      maximum: MAX_ISSUERS,
      what: 'token issuers',
      counted: { accountId },
      prepare: async (tx) => {
        await raiseCredentialVersion(tx, accountId);
        await recordChanges(tx, { ...changeOf(issuer, 'token_issuer.created'), after: shownIssuer(issuer) });
      },
    });
    await this.versions.announce(accountId);
    return issuer;
  }

  /** @throws NotFoundError */
  async get(accountId: string, id: string): Promise<TokenIssuer> {
    return await findOrFail('token issuer', id, () => this.issuers.findOneBy({ id, accountId }));
  }

  async list(accountId: string, { page, limit }: PageQuery): Promise<PageResult<TokenIssuer>> {
    const [items, total] = await this.issuers.findAndCount({
      where: { accountId },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }

  /** @throws NotFoundError, InvalidRequestError */
  async update(accountId: string, id: string, dto: TokenIssuerDto): Promise<TokenIssuer> {
    const before = await this.get(accountId, id);
    const settings = this.settingsOf(dto);
    await this.change(accountId, async (tx) => {
      const changes = { ...settings, updatedAt: new Date() } as object;
      const { affected } = await tx.manager.update(TokenIssuer, { id, accountId }, changes);
      if (!affected) throw new NotFoundError('token issuer');
      const shown = differences(shownIssuer(before), shownIssuer(settings));
      await recordChanges(tx, { ...changeOf(before, 'token_issuer.updated'), ...shown });
    });
    return await this.get(accountId, id);
  }

  /** @throws NotFoundError */
  async delete(accountId: string, id: string): Promise<void> {
    const issuer = await this.get(accountId, id);
    await this.change(accountId, async (tx) => {
      const { affected } = await tx.manager.delete(TokenIssuer, { id, accountId });
      if (!affected) throw new NotFoundError('token issuer');
      await recordChanges(tx, { ...changeOf(issuer, 'token_issuer.deleted'), before: shownIssuer(issuer) });
    });
  }

  /** Takes effect in every process with the next request. */
  private async change(accountId: string, work: (tx: Tx) => Promise<void>): Promise<void> {
    await this.versions.change(accountId, async (tx) => {
      await work(tx);
      await raiseCredentialVersion(tx, accountId);
    });
  }

  private settingsOf({ issuer, jwks_url: url, keys, allows }: TokenIssuerDto) {
    if ((url === undefined) === (keys === undefined))
      throw new InvalidRequestError({ field: 'jwks_url', reason: 'or keys must be given, and not both' });
    const problem = url === undefined ? null : checkOutgoingUrl(url, this.allowed, { httpsOnly: true });
    if (problem !== null) throw new InvalidRequestError({ field: 'jwks_url', reason: problem });
    return { issuer, jwksUrl: url ?? null, keys: keys?.map(knownMembers) ?? null, allows: allows ?? [] };
  }
}

const changeOf = ({ accountId, id }: TokenIssuer, action: string) => ({
  accountId,
  action,
  targets: [auditTarget('token_issuer', id)],
});

const shownIssuer = ({
  issuer,
  jwksUrl,
  keys,
  allows,
}: Pick<TokenIssuer, 'issuer' | 'jwksUrl' | 'keys' | 'allows'>) => ({
  issuer,
  jwks_url: shownUrl(jwksUrl),
  keys: keys?.length ?? null,
  allows,
});
