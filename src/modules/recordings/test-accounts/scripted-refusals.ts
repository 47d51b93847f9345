import { QUOTA_NAMES } from '../../../access/plans.js';
import {
  type ApiError,
  QuotaExceededError,
  RateLimitError,
  ServiceUnavailableError,
} from '../../../platform/errors/errors.js';
import { quotaResetsAt } from '../quotas.service.js';
import type { Recording } from '../recording.entity.js';
import { type Script, type ScriptedRefusal, scriptOf } from './script.js';

const RETRY_SECONDS = 2;
const QUOTA_SECONDS = 36_000;

const REFUSALS: Record<ScriptedRefusal, () => ApiError> = {
  quota: () =>
    new QuotaExceededError(
      QUOTA_NAMES.audioSecondsPerMonth,
      QUOTA_SECONDS,
      QUOTA_SECONDS - 0.5,
      quotaResetsAt(new Date()),
    ),
  'rate-limit': () => new RateLimitError(RETRY_SECONDS),
  unavailable: () => new ServiceUnavailableError(RETRY_SECONDS),
};

/** @throws QuotaExceededError, RateLimitError or ServiceUnavailableError, if the upload to a test account asks for it (D81) */
export function refuseScripted(recording: Pick<Recording, 'originalFilename' | 'durationMs'>): void {
  const { outcome } = scriptOf(recording);
  if (isRefusal(outcome)) throw REFUSALS[outcome]();
}

const isRefusal = (outcome: Script['outcome']): outcome is ScriptedRefusal => outcome in REFUSALS;
