/**
 * In lower case: what of at least 12 characters stands near the top of published lists of the most used passwords
 * (SecLists' `10-million-password-list`, NCSC's `PwnedPasswordsTop100k`, NordPass's yearly lists), and the words of these
 * lists that people make long with digits and signs.
 */
const COMMON = new Set([
  '1q2w3e4r5t6y',
  'q1w2e3r4t5y6',
  '1qaz2wsx3edc',
  '1qaz2wsx3edc4rfv',
  'zaq12wsxcde3',
  '123qweasdzxc',
  'qweasdzxc123',
  'qazwsxedcrfv',
  'qwertyuiop[]',
  'qwertyasdfgh',
  'qwertyuiop123',
  'qwertyasdfzxcv',
  'asdfghjkl123',
  'correcthorsebatterystaple',
  'manchesterunited',
  'motherfucker',
  'unbelievable',
  'administrator',
  'jesuschrist',
  'ilovejesus',
  'thankyoulord',
  'myspace12345',
  'ilovemyfamily',
  'iloveyouforever',
  'iloveyousomuch',
  'alexander1234',
  'liverpoolfc',
  'letmeinplease',
  'changemeplease',
  'thisismypassword',
  'mypassword',
  'nopassword',
  'rootpassword',
  'adminpassword',
  'secretpassword',
  'testpassword',
  'defaultpassword',
  'password',
  'passwort',
  'passw0rd',
  'p@ssw0rd',
  'p@ssword',
  'pa$$word',
  'motdepasse',
  'contraseña',
  'qwerty',
  'qwertz',
  'azerty',
  'qwertyuiop',
  'asdfghjkl',
  'iloveyou',
  'welcome',
  'willkommen',
  'letmein',
  'changeme',
  'administrator',
  'admin',
  'secret',
  'sunshine',
  'princess',
  'football',
  'baseball',
  'superman',
  'dragon',
  'monkey',
  'master',
  'abc',
  'abcd',
  'test',
  'voicenotes',
]);

const MIN_DISTINCT = 5;
const ROWS = [
  '01234567890123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
];

/** Of whom the password is. */
interface Named {
  name: string;
  email: string;
}

/**
 * Whether a guesser tries it among the first: a common one, the person's own name or address, one of these words with
 * digits, a pattern, or one repeated.
 */
export function isCommonPassword(password: string, { name, email }: Named): boolean {
  const text = folded(password);
  const own = new Set([name, email, email.slice(0, email.lastIndexOf('@'))].map(folded));
  return [text, repeatedUnit(text)].some((part) => {
    const isWord = [part, coreOf(part)].some((word) => COMMON.has(word) || own.has(word));
    return isWord || new Set(part).size < MIN_DISTINCT || isInRow(part);
  });
}

const folded = (text: string): string => text.normalize('NFKC').toLowerCase();

/** What the text repeats; itself, if it is no repetition. */
function repeatedUnit(text: string): string {
  const at = (text + text).indexOf(text, 1);
  return text.slice(0, at);
}

/** Without the digits and signs at both ends. */
const coreOf = (text: string): string => text.replace(/^[\d\W_]+/, '').replace(/(?<![\d\W_])[\d\W_]+$/, '');

function isInRow(text: string): boolean {
  const backwards = [...text].toReversed().join('');
  return ROWS.some((row) => row.includes(text) || row.includes(backwards));
}
