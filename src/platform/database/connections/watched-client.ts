import { Client, type ClientConfig } from 'pg';
import { isQueryTimeout } from '../unavailable.js';

type Query = (...parameters: unknown[]) => Promise<unknown>;

/** Beside those of `pg`. */
interface WatchedConfig extends ClientConfig {
  /** False: no statement gets a name. */
  preparedStatements?: boolean;
  /** In force in each transaction, in milliseconds; sent together with its start. */
  transactionSettings?: Record<string, number>;
}

/**
 * A client always has an `error` listener. Without one, a connection that Postgres closes between the pool's listener
 * and TypeORM's would end the process. A statement on a closed connection still fails with its own error.
 *
 * A client whose statement got no answer in time is destroyed. Otherwise TypeORM returns it to the pool with its
 * transaction still open, because the ROLLBACK waits behind that statement, and the next COMMIT commits what was to be
 * rolled back. Held by lost-connections.e2e.ts.
 */
export class WatchedClient extends Client {
  constructor(config: WatchedConfig = {}) {
    super(config);
    this.on('error', () => undefined);
    const query = this.query.bind(this) as Query;
    const watched: Query = (statement, ...others) => {
      const answer = query(adapt(statement, config), ...others);
      // With a callback the caller is the pool, which destroys a client after every error.
      return typeof others.at(-1) === 'function' ? answer : answer.catch((error: unknown) => this.rethrow(error));
    };
    this.query = watched as Client['query'];
  }

  private rethrow(error: unknown): never {
    if (isQueryTimeout(error)) this.end(() => undefined);
    throw error;
  }
}

/** The statement with which TypeORM starts a transaction. */
const START = 'START TRANSACTION';

function adapt(statement: unknown, { preparedStatements = true, transactionSettings }: WatchedConfig): unknown {
  if (statement === START && transactionSettings) {
    const settings = Object.entries(transactionSettings).map(([name, ms]) => `SET LOCAL ${name} = ${ms}`);
    return [START, ...settings].join('; ');
  }
  if (preparedStatements || typeof statement !== 'object' || statement === null || !('name' in statement)) {
    return statement;
  }
  return { ...statement, name: undefined };
}
