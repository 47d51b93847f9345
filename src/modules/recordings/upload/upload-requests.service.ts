import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../../access/principal.js';
import { Env } from '../../../platform/config/env.js';
import { Spool } from '../../../platform/storage/spool.js';
import { UploadAdmissionService } from './upload-admission.service.js';
import { type KeyPairSource, readIdempotencyKey, type UploadFormFields } from './upload-fields.js';
import { minFileBytes, readUploadForm } from './upload-form.js';
import { type UploadContext, type UploadResult, UploadService } from './upload.service.js';

// For other modules, which import no other file of an upload.
export type { RepeatRule, UploadDetails, UploadFormFields } from './upload-fields.js';
export { notAnUpload } from './upload-form.js';

/** Longer user agents are cut off. */
const MAX_USER_AGENT = 512;

/** Takes the upload of a request: admits it before its body is read, reads its form, and stores it. */
@Injectable()
export class UploadRequestsService {
  constructor(
    private readonly uploads: UploadService,
    private readonly admission: UploadAdmissionService,
    private readonly spool: Spool,
    private readonly env: Env,
  ) {}

  /**
   * @param source what an upload with a key pair is said to come from; by default another program.
   * @throws what `readIdempotencyKey`, `UploadAdmissionService.admit`, `readUploadForm` and `UploadService.accept` throw.
   */
  async accept(
    request: Request,
    principal: Principal,
    fields: UploadFormFields,
    source: KeyPairSource = 'api',
  ): Promise<UploadResult> {
    const { accountId } = principal;
    const context = { ...contextOf(request, principal, source), acceptedFormats: this.env.acceptedFormats };
    const mayRepeat = fields.repeatRule !== undefined;
    const releaseSlot = await this.admission.admit({
      accountId,
      ...context,
      mayRepeat,
      minBytes: minFileBytes(request),
    });
    try {
      const isCompared = context.idempotencyKey !== null || mayRepeat;
      const form = await readUploadForm(request, this.spool, fields, isCompared);
      try {
        const repeats = fields.repeatRule?.() ?? null;
        return await this.uploads.accept(accountId, form, fields.details(), { ...context, repeats });
      } finally {
        await form.file.discard();
      }
    } finally {
      releaseSlot();
    }
  }
}

function contextOf(
  request: Request,
  principal: Principal,
  source: KeyPairSource,
): Omit<UploadContext, 'repeats' | 'acceptedFormats'> {
  const userAgent = request.get('user-agent')?.slice(0, MAX_USER_AGENT).toWellFormed();
  return {
    userId: principal.userId,
    keyId: principal.keyId,
    quotas: principal.quotas,
    clientIp: request.ip ?? null,
    userAgent: userAgent ?? null,
    source: principal.credential === 'access_token' ? 'access_token' : source,
    idempotencyKey: readIdempotencyKey(request.get('idempotency-key')),
  };
}
