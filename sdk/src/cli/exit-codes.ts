/** What scripts can tell apart. They are documented in docs/command-line.md. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** Not signed in, wrong or revoked credentials, or a key without the scope. */
  credentials: 3,
  notFound: 4,
  /** Requests a minute, a quota, a count or the size of a file. */
  limit: 5,
  /** The service could not be reached, or answered 5xx. */
  unavailable: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
