import { isDatabaseUnavailable } from './unavailable.js';

const errorOf = (fields: object, message = 'a message of Postgres') => Object.assign(new Error(message), fields);

describe('isDatabaseUnavailable', () => {
  it.each([
    ['08006', 'connection failure'],
    ['53300', 'too many connections'],
    ['57P01', 'admin shutdown'],
    ['57014', 'canceled by statement_timeout'],
    ['55P03', 'canceled by lock_timeout'],
    ['25P03', 'ended by idle_in_transaction_session_timeout'],
    ['25006', 'read-only after a fail-over'],
  ])('counts SQLSTATE %s: %s', (code) => {
    expect(isDatabaseUnavailable(errorOf({ code }))).toBe(true);
  });

  it.each(['Query read timeout', 'Connection terminated unexpectedly', 'Client was closed and is not queryable'])(
    'counts "%s" of pg',
    (message) => {
      expect(isDatabaseUnavailable(errorOf({}, message))).toBe(true);
    },
  );

  it.each(['23505', '22021', '42601', '40P01'])('does not count SQLSTATE %s, a defect of the service', (code) => {
    expect(isDatabaseUnavailable(errorOf({ code }))).toBe(false);
  });
});
