import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../../access/principal.js';
import { Env } from '../../../platform/config/env.js';
import type { FormFields } from '../../../platform/http/input/form-fields.js';
import { Spool } from '../../../platform/storage/spool.js';
import { UploadAdmissionService } from '../quotas/upload-admission.service.js';
import type { KeyPairSource, UploadDetails } from './upload-fields.js';
import { leastFileBytes, readUploadForm } from './upload-form.js';
import { type RepeatRule, type UploadContext, type UploadResult, UploadService } from './upload.service.js';

/** How the form of an operation is read. */
export interface UploadReading {
  fields: FormFields;
  /** Called when the whole form was read. @throws InvalidRequestError */
  details: () => UploadDetails;
  /** As `details`: how an upload without an Idempotency-Key is recognised as a repeat. Null: never. */
  repeats: (() => RepeatRule) | null;
  /** What an upload with a key pair is said to come from; by default another program. */
  source?: KeyPairSource;
}

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

  /** @throws what `UploadAdmissionService.admit`, `readUploadForm` and `UploadService.accept` throw. */
  async accept(request: Request, principal: Principal, reading: UploadReading): Promise<UploadResult> {
    const { accountId } = principal;
    const context = { ...contextOf(request, principal, reading), acceptedFormats: this.env.acceptedFormats };
    const { repeats } = reading;
    const releaseSlot = await this.admission.admit({
      accountId,
      ...context,
      repeats,
      leastBytes: leastFileBytes(request),
    });
    try {
      const hashes = context.idempotencyKey !== null || repeats !== null;
      const form = await readUploadForm(request, this.spool, reading.fields, hashes);
      try {
        const details = reading.details();
        return await this.uploads.accept(accountId, form, details, { ...context, repeats: repeats?.() ?? null });
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
  { source = 'api' }: UploadReading,
): Omit<UploadContext, 'repeats' | 'acceptedFormats'> {
  const userAgent = request.get('user-agent')?.slice(0, MAX_USER_AGENT).toWellFormed();
  return {
    userId: principal.identity,
    keyId: principal.keyId,
    quotas: principal.quotas,
    clientIp: request.ip ?? null,
    userAgent: userAgent ?? null,
    source: principal.credential === 'access_token' ? 'access_token' : source,
    idempotencyKey: request.get('idempotency-key') ?? null,
  };
}
