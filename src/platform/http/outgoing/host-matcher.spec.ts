import { HostMatcher, isHostPattern } from './host-matcher.js';

describe('HostMatcher', () => {
  const matcher = new HostMatcher([
    'Engine.internal',
    '.Example.com',
    '10.0.0.0/8',
    '192.0.2.7',
    'fd00::/8',
    '2001:db8::7',
  ]);

  it.each([
    'engine.internal',
    'ENGINE.internal',
    'a.example.com',
    'a.b.example.com',
    '10.1.2.3',
    '192.0.2.7',
    '[fd00::1]',
    '2001:db8::7',
  ])('matches %s', (host) => expect(matcher.matches(host)).toBe(true));

  it.each([
    'other.internal',
    'x.engine.internal',
    'example.com',
    'badexample.com',
    '11.0.0.1',
    '192.0.2.8',
    '[fe80::1]',
  ])('does not match %s', (host) => expect(matcher.matches(host)).toBe(false));

  it('matches a name when all of its addresses are in the networks', () => {
    expect(matcher.matches('a.test', ['10.0.0.1', 'fd00::1', '192.0.2.7'])).toBe(true);
    expect(matcher.matches('a.test', ['10.0.0.1', '11.0.0.1'])).toBe(false);
    expect(matcher.matches('a.test', [])).toBe(false);
    expect(matcher.matches('11.0.0.1', ['10.0.0.1'])).toBe(false);
  });
});

describe('isHostPattern', () => {
  it.each(['a', '.a', 'a.example.com', 'a_b.internal', '10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8'])(
    'takes %s',
    (text) => expect(isHostPattern(text)).toBe(true),
  );
  it.each(['', '.', '*', '*.example.com', 'http://a', 'a:80', 'a/b', '10.0.0.0/33', 'a b', '-a'])(
    'refuses %j',
    (text) => expect(isHostPattern(text)).toBe(false),
  );
});
