import { isCommonPassword } from './common-passwords.js';

const ADA = { name: 'Ada Lovelace Byron', email: 'ada.of.lovelace@example.com' };

describe('isCommonPassword', () => {
  it.each([
    '123456789012',
    'abcdefghijklm',
    'qwertyuiopasdf',
    'aaaaaaaaaaaa',
    'ababababababab',
    'Password1234',
    'P@ssw0rd2026!',
    '1234password',
    'passwordpassword',
    'welcome!welcome!',
    'Iloveyou!!!!',
    '1Q2W3E4R5T6Y',
    'CorrectHorseBatteryStaple',
    'Administrator1',
    'Ada.of.Lovelace@example.com',
    'ada.of.lovelace2026!',
    'ada lovelace byron',
  ])('refuses %s', (password) => expect(isCommonPassword(password, ADA)).toBe(true));

  it.each([
    'three blue kites over Oslo',
    'mxqZ7-rtP2_ka',
    'password of my dog',
    'Füchse im Schnee 7',
    'ada lovelace byron rows at dawn',
    '日本語のとても長い合い言葉です',
  ])('takes %s', (password) => expect(isCommonPassword(password, ADA)).toBe(false));
});
