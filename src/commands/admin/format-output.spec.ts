import { formatOutput } from './format-output.js';

describe('formatOutput (D30)', () => {
  it('prints names and values, nested ones indented', () => {
    expect(formatOutput({ id: 'a', usage: { count: 2, last: null }, scopes: ['x', 'y'] })).toBe(
      'id: a\nusage:\n  count: 2\n  last: -\nscopes: x,y',
    );
  });

  it('prints a list as an aligned table', () => {
    const hooks = [
      { id: '1', name: 'Müller' },
      { id: '22', name: null },
    ];
    expect(formatOutput({ hooks })).toBe('hooks:\n  id  name\n  1   Müller\n  22  -');
  });

  it('prints a list of any length', () => {
    const differences = Array.from({ length: 200_000 }, (_, day) => ({ day }));
    expect(formatOutput({ differences }).split('\n')).toHaveLength(200_002);
  });

  it('leaves out of long lists what does not fit, and says when a list is empty', () => {
    const account = { id: '1', name: 'A', usage: { count: 1 }, uri: '/v1/account' };
    expect(formatOutput({ accounts: [account] })).not.toMatch(/uri|usage/);
    expect(formatOutput({ accounts: [] })).toBe('accounts: -');
  });

  it('says that a secret is shown only once', () => {
    expect(formatOutput({ api_key: 'k' })).toBe('api_key: k');
    expect(formatOutput({ api_secret: 's' })).toContain('only once');
    expect(formatOutput({ api_key: 'k', api_secret: 's' })).toMatch(/^api_secret: s\n\nStore the secret now.*once\.$/m);
  });
});
