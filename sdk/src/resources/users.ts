import type { UsersEraseResponse } from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';

export class UsersResource {
  constructor(private readonly transport: Transport) {}

  /** Erases all recordings of one end user. */
  erase(userId: string, options?: RequestOptions): Promise<UsersEraseResponse> {
    return this.transport.json({ method: 'DELETE', path: `/users/${encodeURIComponent(userId)}`, ...options });
  }
}
