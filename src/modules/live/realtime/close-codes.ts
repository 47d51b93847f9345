/**
 * Why the service closes a WebSocket of a live recording. The codes are part of the interface (D90). Below 4000 they are
 * those of RFC 6455 and of its registry.
 */
export const CLOSE = {
  finished: { code: 1000, reason: 'The recording is finished.' },
  tooLargeMessage: { code: 1009, reason: 'A message is larger than 2 MB.' },
  failed: { code: 1011, reason: 'Internal error. Connect again with recording=<id> to go on.' },
  restart: { code: 1012, reason: 'The service restarts. Connect again with recording=<id> to go on.' },
  unavailable: { code: 1013, reason: 'Audio cannot be stored now. Connect again with recording=<id> to go on.' },
  misused: { code: 4000, reason: 'Too many messages were refused.' },
  credentials: { code: 4001, reason: 'The credentials are no longer valid.' },
  quota: { code: 4003, reason: 'A quota of the account is used up. The recording has ended.' },
  gone: { code: 4004, reason: 'The recording has ended or was deleted.' },
  silent: { code: 4008, reason: 'No audio came in time. Connect again with recording=<id> to go on.' },
  replaced: { code: 4009, reason: 'Another connection goes on with this recording.' },
  tooLong: { code: 4010, reason: 'The recording has the greatest length. It has ended.' },
  slowReader: { code: 4013, reason: 'Messages were not read in time. Connect again with recording=<id> to go on.' },
  refused: { code: 4029, reason: 'The recording cannot begin.' },
} as const;

export type CloseCause = (typeof CLOSE)[keyof typeof CLOSE];
