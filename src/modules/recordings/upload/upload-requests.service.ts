import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Quotas } from '../../../access/plans.js';
import type { Principal } from '../../../access/principal.js';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { InvalidRequestError, ServiceUnavailableError } from '../../../platform/errors/errors.js';
import type { JsonBody } from '../../../platform/http/input/json-body.js';
import { AllowedNetworks, checkOutgoingUrl } from '../../../platform/http/outgoing/address-rules.js';
import type { ReleaseSlot } from '../../../platform/rate-limit/shared-slots.js';
import { traces } from '../../../platform/observability/traces/traces.js';
import { DiskSpaceService } from '../../../platform/storage/disk-space.service.js';
import { Spool } from '../../../platform/storage/spool.js';
import { QuotasService } from '../quotas.service.js';
import { findIdempotencyKey, KEPT_SECONDS } from './idempotency.queries.js';
import { type KeyPairSource, readIdempotencyKey, type UploadDetails, type UploadFormFields } from './upload-fields.js';
import { cleanFilename, minFileBytes, readUploadForm, type UploadForm } from './upload-form.js';
import { type UploadContext, type UploadResult, UploadService } from './upload.service.js';

// For other modules, which import no other file of an upload.
export type { RepeatRule, UploadDetails, UploadFormFields } from './upload-fields.js';
export { notAnUpload } from './upload-form.js';

/** Longer user agents are cut off. */
const MAX_USER_AGENT = 512;
const DISK_RETRY_SECONDS = 30;

type RequestContext = Omit<UploadContext, 'repeats' | 'acceptedFormats'>;

/**
 * Takes the upload of a request: refuses it before its body is read where it is certain that it cannot be stored (D32),
 * reads its form, and stores it.
 */
@Injectable()
export class UploadRequestsService {
  private readonly allowed: AllowedNetworks;

  constructor(
    private readonly uploads: UploadService,
    private readonly quotas: QuotasService,
    private readonly database: DatabaseService,
    private readonly disk: DiskSpaceService,
    private readonly spool: Spool,
    private readonly env: Env,
  ) {
    this.allowed = new AllowedNetworks(env.webhookAllowedCidrs);
  }

  /**
   * @param source what an upload with a key pair is said to come from; by default another program.
   * @throws ServiceUnavailableError, ConcurrentUploadsError, QuotaExceededError, and what `readIdempotencyKey`,
   *   `readUploadForm` and `UploadService.accept` throw.
   */
  async accept(
    request: Request,
    principal: Principal,
    fields: UploadFormFields,
    source: KeyPairSource = 'api',
  ): Promise<UploadResult> {
    const { accountId, quotas } = principal;
    const context = contextOf(request, principal, source);
    const hasKey = context.idempotencyKey !== null;
    const mayRepeat = fields.repeatRule !== undefined;
    const releaseSlot = await this.takeSlot(accountId, quotas);
    try {
      // Whether it is a repeat is known when its body was read. What is stored is compared with the quotas in any case.
      if (hasKey || !mayRepeat) await this.refuseFull(accountId, context, minFileBytes(request));
      const form = await traces.span('receive', {}, () => this.read(request, fields, hasKey || mayRepeat));
      try {
        const { acceptedFormats } = this.env;
        const repeats = fields.repeatRule?.() ?? null;
        const details = fields.details();
        this.checkUrls(details);
        return await this.uploads.accept(accountId, form, details, { ...context, acceptedFormats, repeats });
      } finally {
        await form?.file.discard();
      }
    } finally {
      releaseSlot();
    }
  }

  /**
   * Takes audio that did not arrive in a form.
   * @param details not validated yet
   * @throws as `accept`, but for what a form may have wrong.
   */
  async acceptAudio(
    request: Request,
    principal: Principal,
    audio: { bytes: Uint8Array; filename: string | undefined },
    details: UploadDetails,
  ): Promise<UploadResult> {
    const { accountId, quotas } = principal;
    const context = { ...contextOf(request, principal, 'api'), idempotencyKey: null, repeats: null };
    const releaseSlot = await this.takeSlot(accountId, quotas);
    const stored = async () => {
      await this.refuseFull(accountId, context, audio.bytes.length);
      return await this.spool.withFile(async (file) => {
        await file.write(audio.bytes);
        const form = { file, originalFilename: cleanFilename(audio.filename), sha256: null };
        const { acceptedFormats } = this.env;
        return await this.uploads.accept(accountId, form, details, { ...context, acceptedFormats });
      });
    };
    return await stored().finally(releaseSlot);
  }

  /** @returns null when there is a link in place of the file. */
  private async read(request: Request, fields: UploadFormFields, computeSha256: boolean): Promise<UploadForm | null> {
    if (!fields.addJson || !request.is('application/json')) {
      return await readUploadForm(request, this.spool, fields, computeSha256);
    }
    fields.addJson(await (request.body as JsonBody).read());
    return null;
  }

  /** Without DNS: what the hosts lead to is checked when they are connected to. @throws InvalidRequestError */
  private checkUrls({ url, callback_url: callbackUrl }: UploadDetails): void {
    const check = (field: string, given: string | undefined, httpsOnly: boolean): void => {
      const reason = given === undefined ? null : checkOutgoingUrl(given, this.allowed, { httpsOnly });
      if (reason !== null) throw new InvalidRequestError({ field, reason });
    };
    check('url', url, true);
    check('callback_url', callbackUrl, this.env.webhookHttpsOnly);
  }

  private async takeSlot(accountId: string, { concurrentUploads }: Quotas): Promise<ReleaseSlot> {
    if (await this.disk.hasRoom()) return await this.quotas.takeUploadSlot(accountId, concurrentUploads);
    this.quotas.countRefusal('free_disk');
    throw new ServiceUnavailableError(DISK_RETRY_SECONDS);
  }

  /** An upload that was accepted before is answered again, whatever the quotas. @param minBytes of the file */
  private async refuseFull(
    accountId: string,
    { quotas, userId, idempotencyKey: key }: RequestContext,
    minBytes: number,
  ): Promise<void> {
    const refusal = await this.quotas.findRefusal(accountId, quotas, minBytes);
    if (!refusal) return;
    const caller = { accountId, identity: userId ?? '' };
    if (key !== null && (await findIdempotencyKey(this.database, { ...caller, key }, KEPT_SECONDS))) return;
    this.quotas.refuse(refusal);
  }
}

function contextOf(request: Request, principal: Principal, source: KeyPairSource): RequestContext {
  const userAgent = request.get('user-agent')?.slice(0, MAX_USER_AGENT).toWellFormed();
  return {
    userId: principal.userId,
    keyId: principal.keyId,
    quotas: principal.quotas,
    isTest: principal.isTest,
    clientIp: request.ip ?? null,
    userAgent: userAgent ?? null,
    source: principal.credential === 'access_token' ? 'access_token' : source,
    idempotencyKey: readIdempotencyKey(request.get('idempotency-key')),
  };
}
