import type { RequestOptions } from '../http/client-options.js';
import type { Transport } from '../http/transport.js';
import type { ErasedUser } from '../types.js';

/** The end users of the account. */
export class UsersResource {
  constructor(private readonly transport: Transport) {}

  /** Erases all recordings of one end user. */
  erase(userId: string, options?: RequestOptions): Promise<ErasedUser> {
    return this.transport.json({ ...options, method: 'DELETE', path: `/users/${encodeURIComponent(userId)}` });
  }
}
