import { isCommonPassword } from './common-passwords.js';

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
  ])('refuses %s', (password) => expect(isCommonPassword(password)).toBe(true));

  it.each([
    'three blue kites over Oslo',
    'mxqZ7-rtP2_ka',
    'password of my dog',
    'Füchse im Schnee 7',
    '日本語のとても長い合い言葉です',
  ])('takes %s', (password) => expect(isCommonPassword(password)).toBe(false));
});
