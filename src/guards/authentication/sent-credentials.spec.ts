import { readCredentials } from './sent-credentials.js';

const PAIR = { key: 'vnk_a', secret: 'vns_b' };
const HEADERS = { 'x-service-api-key': 'vnk_a', 'x-service-api-secret': 'vns_b' };

describe('readCredentials', () => {
  it.each([
    ['nothing', {}, { keyPair: null, token: null }],
    ['a pair in its headers', HEADERS, { keyPair: PAIR, token: null }],
    ['a pair as Bearer', { authorization: 'Bearer vnk_a.vns_b' }, { keyPair: PAIR, token: null }],
    [
      'a secret with dots',
      { authorization: 'Bearer vnk_a.vns_b.c' },
      { keyPair: { ...PAIR, secret: 'vns_b.c' }, token: null },
    ],
    ['the same pair twice', { ...HEADERS, authorization: 'Bearer vnk_a.vns_b' }, { keyPair: PAIR, token: null }],
    ['a token', { authorization: 'Bearer abc' }, { keyPair: null, token: 'abc' }],
    ['a token after several blanks', { authorization: 'bEARER   abc' }, { keyPair: null, token: 'abc' }],
    ['a token beside a pair', { ...HEADERS, authorization: 'Bearer abc' }, { keyPair: PAIR, token: 'abc' }],
    ['a key without a secret as a token', { authorization: 'Bearer vnk_a' }, { keyPair: null, token: 'vnk_a' }],
    [
      'halves in the other order as a token',
      { authorization: 'Bearer vns_b.vnk_a' },
      { keyPair: null, token: 'vns_b.vnk_a' },
    ],
    [
      'something before a pair as a token',
      { authorization: 'Bearer x vnk_a.vns_b' },
      { keyPair: null, token: 'x vnk_a.vns_b' },
    ],
    ['the scheme alone as an empty token', { authorization: 'Bearer' }, { keyPair: null, token: '' }],
    ['the scheme and blanks as an empty token', { authorization: 'Bearer  ' }, { keyPair: null, token: '' }],
    [
      'an empty pair',
      { 'x-service-api-key': '', 'x-service-api-secret': '' },
      { keyPair: { key: '', secret: '' }, token: null },
    ],
    ['another scheme as nothing', { authorization: 'Basic dTpw' }, { keyPair: null, token: null }],
    ['a scheme that begins like Bearer as nothing', { authorization: 'Bearerabc' }, { keyPair: null, token: null }],
    ['a pair beside another scheme', { ...HEADERS, authorization: 'Basic dTpw' }, { keyPair: PAIR, token: null }],
  ])('reads %s', (_, headers, sent) => {
    expect(readCredentials(headers)).toEqual(sent);
  });

  it.each([
    ['a key without a secret', { 'x-service-api-key': 'vnk_a' }],
    ['a secret without a key', { 'x-service-api-secret': 'vns_b' }],
    ['half a pair beside a token', { 'x-service-api-key': 'vnk_a', authorization: 'Bearer abc' }],
    ['half a pair beside a whole one', { 'x-service-api-secret': 'vns_b', authorization: 'Bearer vnk_a.vns_b' }],
    ['a pair beside one with another key', { ...HEADERS, authorization: 'Bearer vnk_x.vns_b' }],
    ['a pair beside one with another secret', { ...HEADERS, authorization: 'Bearer vnk_a.vns_x' }],
  ])('refuses %s', (_, headers) => {
    expect(readCredentials(headers)).toBeNull();
  });
});
