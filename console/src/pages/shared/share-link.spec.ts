import { readShareLink } from './share-link';

describe('readShareLink', () => {
  it.each([
    ['#vnsh_a', { token: 'vnsh_a', time: 0 }],
    ['#vnsh_a&t=63.5', { token: 'vnsh_a', time: 63.5 }],
    ['#vnsh_a&t=-1', { token: 'vnsh_a', time: 0 }],
    ['#vnsh_a&t=soon', { token: 'vnsh_a', time: 0 }],
    ['', { token: '', time: 0 }],
  ])('reads %j', (hash, link) => {
    expect(readShareLink(hash)).toEqual(link);
  });
});
