import { signInLink } from './demo.mjs';

describe('signInLink', () => {
  test('has the credentials in the fragment, which browsers send to no server, and nowhere else', () => {
    const link = new URL(signInLink('http://127.0.0.1:3000', { apiKey: 'vnk_a b', apiSecret: 'vns_&#' }));
    expect(link.origin + link.pathname + link.search).toBe('http://127.0.0.1:3000/');
    expect(Object.fromEntries(new URLSearchParams(link.hash.slice(1)))).toEqual({ key: 'vnk_a b', secret: 'vns_&#' });
  });
});
