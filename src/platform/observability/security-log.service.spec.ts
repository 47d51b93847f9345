import { pino } from 'pino';
import { SecurityLogService } from './security-log.service.js';

describe('SecurityLogService', () => {
  const linesAt = (level: string): unknown[] => {
    const lines: unknown[] = [];
    const parent = pino({ level, base: {} }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    new SecurityLogService(parent).record('api key revoked', { account_id: 'a', key_id: 'k', by: 'operator' });
    return lines;
  };

  it.each(['fatal', 'warn', 'info', 'trace'])('marks its lines, and writes them at LOG_LEVEL=%s', (level) => {
    expect(linesAt(level)).toEqual([
      expect.objectContaining({
        log: 'security',
        account_id: 'a',
        key_id: 'k',
        by: 'operator',
        msg: 'api key revoked',
      }),
    ]);
  });

  it('writes nothing at LOG_LEVEL=silent', () => {
    expect(linesAt('silent')).toEqual([]);
  });
});
