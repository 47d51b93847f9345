import { childEnvironment } from './process-protection.js';

describe('childEnvironment', () => {
  it('passes on what programs need to be found and to speak UTF-8, and nothing else', () => {
    const passed = {
      PATH: '/bin',
      LD_LIBRARY_PATH: '/lib',
      DYLD_LIBRARY_PATH: '/lib',
      LANG: 'C.UTF-8',
      LC_ALL: 'C.UTF-8',
      LC_CTYPE: '',
    };
    expect(childEnvironment({ ...passed, SECRET_KEY: 's', DATABASE_URL: 'd', NODE_OPTIONS: '', HOME: '/' })).toEqual(
      passed,
    );
    expect(childEnvironment({ PATH: '/bin', LANG: undefined })).toStrictEqual({ PATH: '/bin' });
  });
});
