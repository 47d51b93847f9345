import { errors } from 'undici';
import { describeError, OutgoingRequestError } from './outgoing-error.js';

const coded = (code: string) => Object.assign(new Error('to 10.0.0.1:443'), { code });

describe('describeError (D39)', () => {
  it.each([
    ['ECONNREFUSED', 'connect'],
    ['EHOSTUNREACH', 'connect'],
    ['ENETUNREACH', 'connect'],
    ['ETIMEDOUT', 'timeout'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'reset'],
    ['UND_ERR_SOCKET', 'reset'],
    ['UND_ERR_HEADERS_OVERFLOW', 'reset'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['EPROTO', 'tls'],
  ])('%s is %s', (code, kind) => {
    const { kind: found, message } = describeError(coded(code));
    expect(found).toBe(kind);
    expect(message).not.toContain('10.0.0.1');
  });

  it('keeps what ended an attempt, and takes what is no HTTP for a reset', () => {
    expect(describeError(new OutgoingRequestError('dns', 'no such name'))).toMatchObject({
      kind: 'dns',
      message: 'no such name',
    });
    expect(describeError(new errors.HTTPParserError('x')).kind).toBe('reset');
    expect(describeError(null).kind).toBe('connect');
  });
});
