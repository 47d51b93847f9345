import { isCidr, Networks, networksProblem } from './networks.js';

const office = new Networks(['203.0.113.0/24', '2001:db8::/32', '198.51.100.7/32']);

describe('Networks', () => {
  it.each([
    ['203.0.113.0', true],
    ['203.0.113.255', true],
    ['203.0.114.0', false],
    ['::ffff:203.0.113.9', true],
    ['::ffff:cb00:7109', true],
    ['::ffff:203.0.114.9', false],
    ['198.51.100.7', true],
    ['198.51.100.8', false],
    ['2001:db8:1::1', true],
    ['2001:DB8:0:0:0:0:0:1', true],
    ['2001:db9::1', false],
    ['::1', false],
    ['203.0.113.9:80', false],
    ['203.0.113', false],
    ['3405803785', false],
    ['', false],
    ['unknown', false],
  ])('whether %s is inside is %s', (ip, inside) => expect(office.includes(ip)).toBe(inside));

  it('has no address without networks', () => {
    expect(new Networks([]).includes('203.0.113.9')).toBe(false);
  });

  it.each([
    ['203.0.113.0/24', true],
    ['203.0.113.128/25', true],
    ['203.0.113.9/32', true],
    ['203.0.112.0/23', false],
    ['203.0.114.0/24', false],
    ['0.0.0.0/0', false],
    ['2001:db8:5::/48', true],
    ['2001:d00::/24', false],
    ['::/0', false],
  ])('whether they cover %s is %s', (cidr, covered) => expect(office.covers(cidr)).toBe(covered));
});

describe('networksProblem', () => {
  it.each([
    [['203.0.113.0/24']],
    [['0.0.0.0/0', '::/0']],
    [['2001:db8::1/128', 'fd00::/8', '10.0.0.1/32']],
    [Array.from({ length: 20 }, (_, index) => `10.0.${index}.0/24`)],
  ])('is none of %j', (value) => expect(networksProblem(value)).toBeNull());

  it.each<[unknown, string]>([
    [null, 'must be a list of 1 to 20 networks'],
    ['203.0.113.0/24', 'must be a list'],
    [[], 'must be a list of 1 to 20'],
    [Array.from({ length: 21 }, (_, index) => `10.0.${index}.0/24`), 'must be a list of 1 to 20'],
    [[1], 'must be networks, such as'],
    [['203.0.113.0/24', null], 'must be networks'],
    [['203.0.113.7'], 'must be networks'],
    [['203.0.113.0/33'], 'must be networks'],
    [['203.0.113/24'], 'must be networks'],
    [['fe80::%eth0/64'], 'must be networks'],
    [['example.com/24'], 'must be networks'],
    [[' 203.0.113.0/24'], 'must be networks'],
    [['203.0.113.7/24'], 'the first address of each network: 203.0.113.0/24'],
    [['2001:db8::1/32'], 'the first address of each network: 2001:db8::/32'],
    [['::ffff:203.0.113.0/120'], 'in the form of IPv4'],
    [['203.0.113.0/24', '203.0.113.0/24'], 'must not name a network twice'],
  ])('of %j is told', (value, problem) => expect(networksProblem(value)).toContain(problem));
});

it('takes no shortened address for a network', () => {
  expect(['10.1/16', '10.1.0.0/16', '10.1.0.0/', '/16', ''].map(isCidr)).toEqual([false, true, false, false, false]);
});
