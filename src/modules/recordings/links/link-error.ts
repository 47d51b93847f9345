import { MAX_FILE_BYTES } from '../../../platform/audio-formats.js';
import { describeError, type OutgoingErrorKind } from '../../../platform/http/outgoing/outgoing-error.js';

/** Why a link was not fetched; the labels of the metric. */
export type LinkOutcome =
  | OutgoingErrorKind
  | 'status'
  | 'redirects'
  | 'web_page'
  | 'not_audio'
  | 'too_large'
  | 'quota'
  | 'forgotten'
  | 'exhausted';

/** Ends an attempt to fetch a link. */
export class LinkError extends Error {
  override readonly name = 'LinkError';

  constructor(
    readonly outcome: LinkOutcome,
    /** For the client, if no attempt follows. It never names the link, which may hold a secret. */
    readonly reason: string,
    /** Null: another attempt is of no use. */
    readonly retry: { /** What the host has asked for. */ afterMs: number } | null = null,
  ) {
    super(outcome);
  }
}

const RETRY = { afterMs: 0 };
/** Neither is of the link alone: the host, or the way to it, may be back soon. */
const BY_KIND: Record<OutgoingErrorKind, [reason: string, retry: typeof RETRY | null]> = {
  dns: ['The host of the link has no public address.', RETRY],
  tls: ['The certificate of the link is not trusted.', null],
  connect: ['The connection to the host of the link failed.', RETRY],
  timeout: ['The host of the link did not answer in time.', RETRY],
  refused_address: ['The link leads to an address that this service does not fetch from.', null],
  reset: ['The host of the link closed the connection before the end of the file.', RETRY],
};

const MAX_MB = MAX_FILE_BYTES / 1024 / 1024;

/** The whole vocabulary of failure reasons (D72), but for those that name what the file is or which quota is full. */
export const LINK_ERRORS = {
  status: (status: number, retry: LinkError['retry']) =>
    new LinkError('status', `The link was answered with HTTP status ${status}.`, retry),
  redirects: () => new LinkError('redirects', 'The link redirects too often, or to no address.'),
  webPage: () => new LinkError('web_page', 'The link leads to a web page, not to audio.'),
  tooLarge: () =>
    new LinkError(
      'too_large',
      `The file behind the link is larger than ${MAX_MB} MB (${MAX_FILE_BYTES.toLocaleString('en-US')} bytes).`,
    ),
  notAudio: (rule: string) => new LinkError('not_audio', `The file behind the link ${rule}.`),
  quota: (name: string) => new LinkError('quota', `The file behind the link does not fit into the quota ${name}.`),
  forgotten: () => new LinkError('forgotten', 'The link can no longer be read. Upload it again.'),
  exhausted: () => new LinkError('exhausted', 'The link could not be fetched.'),
};

/** What an error of the connection, or of the answer, means for a link. */
export function toLinkError(error: unknown): LinkError {
  if (error instanceof LinkError) return error;
  const { kind } = describeError(error);
  const [reason, retry] = BY_KIND[kind];
  return new LinkError(kind, reason, retry);
}
